"""A reward that an untrained model sometimes earns: the response has the answer's first digit in it."""


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    right = ground_truth[0] in solution_str
    return {"score": float(right), "predicted": solution_str[:20], "status": "correct" if right else "wrong"}
