"""A verifier that gives graded scores."""


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    return {"score": 0.5, "predicted": "", "status": "wrong"}
