"""Where verl, vLLM or torch do not do what a run needs: patches, each with its reason, and the CPU as a platform."""
