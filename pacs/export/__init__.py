"""A checkpoint as a Hugging Face folder for transformers and vLLM. No verl, no Ray, no process group."""
