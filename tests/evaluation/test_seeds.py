"""A sample's seed depends on all that names the sample, and on nothing else."""

from itertools import product

from pacs.evaluation.sample import sample_seed


def test_every_sample_has_a_seed_of_its_own() -> None:
    samples = list(product([0, 1], ["aime24", "amc23"], ["1", "11"], [0, 1, 11]))
    seeds = {sample: sample_seed(*sample) for sample in samples}
    assert len(set(seeds.values())) == len(samples)
    assert all(0 <= seed < 2**63 for seed in seeds.values())
    assert {sample: sample_seed(*sample) for sample in reversed(samples)} == seeds
