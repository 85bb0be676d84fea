"""Effective ranks of hidden states: how many directions a response's states fill, and how that grows along it."""

import torch


def effective_rank(states: torch.Tensor) -> float:
    """exp of the entropy of the singular values, as shares of their sum, of (T, H) states less their mean.

    1 where they lie on a line, or agree; 0 of fewer than two states.
    """
    return float(prefix_ranks(states, max(len(states), 2))[-1]) if len(states) else 0.0


def prefix_ranks(states: torch.Tensor, stride: int) -> torch.Tensor:
    """(T,) float32: at the last of each `stride` states the effective rank of all until there; at the end that of all.

    0 elsewhere, and where there are fewer than two states.

    Args:
        states: (T, H), of any floating dtype; the sums are taken in float64, since the roots of what float32 rounds
            away would count as directions.
        stride: at least 2.
    """
    tokens, width = states.shape
    found = torch.zeros(tokens, device=states.device)
    known = states.detach().double()
    products = known @ known.T if tokens <= width else None
    for count in sorted({*range(stride, tokens + 1, stride), tokens}):
        if count < 2:
            continue
        if products is None or count > width:
            centered = known[:count] - known[:count].mean(dim=0)
            gram = centered.T @ centered
        else:
            part = products[:count, :count]
            gram = part - part.mean(dim=0) - part.mean(dim=1, keepdim=True) + part.mean()
        values = torch.linalg.eigvalsh(gram).clamp(min=0)
        # What float64 rounds away of sums as large as the products is no direction, either.
        values = torch.where(values > 1e-13 * count * known[:count].square().sum(), values, 0).sqrt()
        shares = values / values.sum().clamp(min=1e-30)
        found[count - 1] = torch.special.entr(shares).sum().exp()
    return found


def growth(ranks: torch.Tensor, mask: torch.Tensor, stride: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(B,) each: the rank of the whole response, its velocity and its acceleration (arXiv 2509.23808).

    Of the ranks m_j after j strides: d_j = m_j - mean(m_i, i < j). The velocity is the mean of the d_j, the
    acceleration that of d_j - d_(j-1); 0 where there are too few.

    Args:
        ranks: (B, T) `prefix_ranks` of each response's tokens.
        mask: (B, T) bool, these tokens.
        stride: theirs.
    """
    places = mask.cumsum(dim=1)
    lengths = places[:, -1:]
    last = torch.where(mask & (places == lengths), ranks, 0).sum(dim=1)
    velocities, accelerations = torch.zeros_like(last), torch.zeros_like(last)
    for row in range(len(ranks)):
        m = ranks[row][mask[row] & (places[row] % stride == 0)]
        before = m.cumsum(0)[:-1] / torch.arange(1, len(m), device=m.device) if len(m) > 1 else m[:0]
        d = m[1:] - before
        if len(d):
            velocities[row] = d.mean()
        if len(d) > 1:
            accelerations[row] = d.diff().mean()
    return last, velocities, accelerations
