"""The known sources, a declaration each. Where two repositories have the same problems, the first is the default."""

from dataclasses import dataclass

from pacs.base.errors import UserError
from pacs.base.suggestions import did_you_mean
from pacs.data.columns import Columns
from pacs.data.golds import list_gold, number_gold
from pacs.data.gpqa import Choices
from pacs.data.livecodebench import RELEASE, RELEASES, LiveCodeBench
from pacs.data.problem import Reader

#: Of a prompt, in tokens: the data configs' own.
MAX_PROMPT_LENGTH = 1024
# What the user is asked beside the question, by the verifier that looks for the answer; of another verifier nothing.
BOXED = "Please reason step by step, and put your final answer within \\boxed{}."
INSTRUCTIONS = {
    "math": BOXED,
    "exact_match": BOXED,
    "multiple_choice": "Please reason step by step, and put the letter of the right choice within \\boxed{}.",
    "code": "",  # the benchmark's own prompt says it
    "countdown": "Please reason step by step, and put your expression of the numbers within \\boxed{}.",
}
#: verl's `ability`, by the verifier; of another verifier `general`.
ABILITIES = {
    "math": "math",
    "exact_match": "general",
    "multiple_choice": "general",
    "code": "code",
    "countdown": "math",
}


@dataclass(frozen=True)
class Source:
    """Where problems come from and how their rows are read.

    Attributes:
        name: of the problems; their `data_source`.
        repo: dataset repository on the Hugging Face Hub.
        split: of the repository.
        rows: their number in the split, None if that depends on settings.
        about: a few words.
        read: makes a problem of a row.
        revision: commit, if it is pinned.
        configs: of the repository, all of which are read.
        files: of the repository, read as JSON lines in place of what it declares.
        training: whether the problems are to be trained on.
        verifier: name in the registry of rewards.
    """

    name: str
    repo: str
    split: str
    rows: int | None
    about: str
    read: Reader
    revision: str | None = None
    configs: tuple[str | None, ...] = (None,)
    files: tuple[str, ...] = ()
    training: bool = False
    verifier: str = "math"


SOURCES = (
    Source(
        "deepscaler", "agentica-org/DeepScaleR-Preview-Dataset", "train", 40_315,
        "for training: AIME, AMC, Omni-MATH, STILL", Columns(solution="solution"),
        revision="b6ae8c60f5c1f2b594e2140b91c49c9ad0949e29", training=True,
    ),
    Source(
        "math500", "HuggingFaceH4/MATH-500", "test", 500, "500 of the MATH test problems",
        Columns(solution="solution", id="unique_id", difficulty="level"),
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
    ),
    Source(
        "amc23", "math-ai/amc23", "test", 40, "AMC 12 of 2023, answers as numbers",
        Columns(question="question", id="id", gold=number_gold), revision="80815d37005feb82cd7f8fbc6901d5d3eff43057",
    ),
    Source(
        "amc23", "zwhe99/amc23", "test", 40, "the same problems",
        Columns(question="question", id="id", gold=number_gold),
    ),
    Source(
        "aime24", "HuggingFaceH4/aime_2024", "train", 30, "AIME I and II of 2024",
        Columns(solution="solution", id="id", gold=number_gold), revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
    ),
    Source(
        "aime24", "Maxwell-Jia/AIME_2024", "train", 30, "the same problems",
        Columns(question="Problem", answer="Answer", solution="Solution", id="ID", gold=number_gold),
    ),
    Source(
        "aime25", "math-ai/aime25", "test", 30, "AIME I and II of 2025", Columns(id="id", gold=number_gold),
        revision="563bb8404243c5f09de6ec262f2db674fe5bce9b",
    ),
    Source(
        "aime25", "yentinglin/aime_2025", "train", 30, "the same problems",
        Columns(solution="solution", id="id", gold=number_gold),
    ),
    Source(
        "aime25", "opencompass/AIME2025", "test", 30, "the same problems, in two configs",
        Columns(question="question", gold=number_gold), configs=("AIME2025-I", "AIME2025-II"),
    ),
    Source(
        "beyondaime", "ByteDance-Seed/BeyondAIME", "test", 100, "harder than AIME, integers", Columns(gold=number_gold)
    ),
    Source(
        "olympiadbench", "math-ai/olympiadbench", "test", 674, "olympiads: English, text only, open-ended",
        Columns(question="question", answer="final_answer", id="id", gold=list_gold),
        revision="4faaf1e6ec17d11a4218a9bf4c049ecaf954dd84",
    ),
    Source(
        "olympiadbench", "Hothan/OlympiadBench", "train", 674, "the same problems",
        Columns(question="question", answer="final_answer", id="id", gold=list_gold),
        revision="91184b52131e7fc9455fef848035173aea8cc01a", configs=("OE_TO_maths_en_COMP",),
    ),
    Source(
        "minerva", "math-ai/minervamath", "test", 272, "undergraduate science, with units and constants",
        Columns(question="question"), revision="ee46ddc498933b1977577953250ca5c66be64f96",
    ),
    Source(
        "gpqa_diamond", "Idavidrein/gpqa", "train", 198, "graduate science, four choices; gated", Choices(),
        revision="83022cefff930aea54f654c0b282e74b9eeda5c6", configs=("gpqa_diamond",), verifier="multiple_choice",
    ),
    Source(
        "livecodebench", "livecodebench/code_generation_lite", "test", None, "contest programs in a window of dates",
        LiveCodeBench(), revision="0fe84c3912ea0c4d4a78037083943e8f0c4dd505", files=RELEASES[RELEASE], verifier="code",
    ),
)  # fmt: skip


def find_source(name: str) -> Source:
    """The source with this name, or with this repository.

    Raises:
        UserError: If there is none; the nearest names are in the message.
    """
    for source in SOURCES:
        if name in (source.name, source.repo):
            return source
    known = [word for source in SOURCES for word in (source.name, source.repo)]
    hint = did_you_mean(name, known, count=3, cutoff=0.5)
    raise UserError(f"{name} is neither a known source nor a file.{hint} `pacs data list` shows the sources")
