"""Everything that touches verl, Ray and vLLM. No maths lives here: it is in `pacs.algorithm`."""
