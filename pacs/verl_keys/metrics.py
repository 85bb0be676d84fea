"""verl's metrics by their names, as far as other packages read them; docs/metrics.md says what each really is."""

from typing import Final

#: Mean score of the step's responses; where all scores are 0 and 1, the pass rate.
SCORE: Final = "critic/score/mean"
#: Nats a token.
ENTROPY: Final = "actor/entropy"
#: Before clipping.
GRADIENT_NORM: Final = "actor/grad_norm"
#: Mean, in tokens.
RESPONSE_LENGTH: Final = "response_length/mean"
STEP_SECONDS: Final = "timing_s/step"
#: Tokens of a step, a second and a GPU.
THROUGHPUT: Final = "perf/throughput"
#: GiB of a GPU that a training process had at most, or of memory on a CPU.
MOST_RESERVED: Final = "actor/perf/max_memory_reserved_gb"
#: Seconds of a step's phases, in their order -> the phase in words.
PHASES: Final = {
    "timing_s/gen": "rollouts",
    "timing_s/old_log_prob": "old log π",
    "timing_s/ref": "ref log π",
    "timing_s/update_actor": "update",
    "timing_s/update_weights": "transfer",
    "timing_s/values": "critic values",
    "timing_s/update_critic": "critic update",
}
#: What the metrics of a validation begin with; then come the data source, a variable, and a statistic.
VALIDATION: Final = "val-core/"
#: A glob of a validation's mean scores, named by the samples a problem.
VALIDATION_MEANS: Final = f"{VALIDATION}*/mean@*"
