"""A reward that a model with random weights earns half of the time, so that nearly every group has both classes."""


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, object] | None = None
) -> dict[str, object]:
    """1 if the sum of the response's characters is even; the other arguments are verl's, and are not read."""
    right = sum(map(ord, solution_str)) % 2 == 0
    return {"score": float(right), "predicted": solution_str[:20], "status": "correct" if right else "wrong"}
