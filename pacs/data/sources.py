"""The known sources, a declaration each. Where two repositories have the same problems, the first is the default."""

from dataclasses import dataclass

from pacs.base.errors import UserError, did_you_mean
from pacs.data.columns import Choices, Columns, unfit
from pacs.data.golds import boxed_gold, list_gold, number_gold, unsolved
from pacs.data.livecodebench import RELEASE, RELEASES, LiveCodeBench
from pacs.data.problem import Reader

#: Of a prompt, in tokens: the data configs' own.
MAX_PROMPT_LENGTH = 1024
# What the user is asked beside the question, by the verifier that looks for the answer; of another verifier nothing.
BOXED = "Please reason step by step, and put your final answer within \\boxed{}."
INSTRUCTIONS = {
    "math": BOXED,
    "exact_match": BOXED,
    "reference_probability": BOXED,
    "multiple_choice": "Please reason step by step, and put the letter of the right choice within \\boxed{}.",
    "code": "",  # the benchmark's own prompt says it
    "countdown": "Please reason step by step, and put your expression of the numbers within \\boxed{}.",
}
#: verl's `ability`, by the verifier; of another verifier `general`.
ABILITIES = {"math": "math", "code": "code", "countdown": "math"}


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
    Source("deepscaler", "agentica-org/DeepScaleR-Preview-Dataset", "train", 40_315, "AIME, AMC, Omni-MATH, STILL",
        Columns(solution="solution"), revision="b6ae8c60f5c1f2b594e2140b91c49c9ad0949e29", training=True),
    Source("gsm8k", "openai/gsm8k", "train", 7473, "grade school word problems, answers as numbers",
        Columns(question="question"), revision="740312add88f781978c0658806c59bc2815b9866", configs=("main",),
        training=True),
    Source("dapo", "BytedTsinghua-SIA/DAPO-Math-17k", "train", 1_791_700,
        "17k problems, whole numbers for answers, each about 100 times",
        Columns(question="prompt.0.content", answer="reward_model.ground_truth", id="extra_info.index"),
        revision="65877096c24ffa7abc4e4fa5edb95cf3413a5674", training=True),
    Source("openr1", "open-r1/OpenR1-Math-220k", "train", 93_733, "NuminaMath 1.5 with R1's solutions",
        Columns(id="uuid", unfit=unfit), revision="e4e141ec9dea9f8326f4d347be56105859b2bd68", configs=("default",),
        training=True),
    Source("numina", "AI-MO/NuminaMath-1.5", "train", 896_215, "competitions and school books", Columns(unfit=unfit),
        revision="1b05109f9e5c1ad06c0663519502416c30b300f8", training=True),
    Source("numina_cot", "AI-MO/NuminaMath-CoT", "train", 859_494, "the one before, answers in solutions",
        Columns(answer="solution", gold=boxed_gold, unfit=unfit), revision="9d8d210c9f6a36c8f3cd84045668c9b7800ef517",
        training=True),
    Source("big-math", "SynthLabsAI/Big-Math-RL-Verified", "train", 251_122, "ten sets, open-ended",
        Columns(difficulty="llama8b_solve_rate", level=unsolved, unfit=unfit), training=True),
    Source("orz", "Open-Reasoner-Zero/orz_math_57k_collection", "train", 56_878, "AIME, MATH, NuminaMath and others",
        Columns(question="0.value", answer="1.ground_truth.value", unfit=unfit), training=True),
    Source("deepmath", "zwhe99/DeepMath-103K", "train", 103_022, "mostly hard, kept apart from benchmarks",
        Columns(question="question", answer="final_answer", difficulty="difficulty"),
        revision="5cf055d1fe3d7a2eb19719ac020211469736ae44", training=True),
    Source("math500", "HuggingFaceH4/MATH-500", "test", 500, "500 of the MATH test problems",
        Columns(solution="solution", id="unique_id", difficulty="level"),
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be"),
    Source("amc23", "math-ai/amc23", "test", 40, "AMC 12 of 2023, answers as numbers",
        Columns(question="question", id="id", gold=number_gold), revision="80815d37005feb82cd7f8fbc6901d5d3eff43057"),
    Source("amc23", "zwhe99/amc23", "test", 40, "the same problems",
        Columns(question="question", id="id", gold=number_gold)),
    Source("aime24", "HuggingFaceH4/aime_2024", "train", 30, "AIME I and II of 2024",
        Columns(solution="solution", id="id", gold=number_gold), revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a"),
    Source("aime24", "Maxwell-Jia/AIME_2024", "train", 30, "the same problems",
        Columns(question="Problem", answer="Answer", solution="Solution", id="ID", gold=number_gold)),
    Source("aime25", "math-ai/aime25", "test", 30, "AIME I and II of 2025", Columns(id="id", gold=number_gold),
        revision="563bb8404243c5f09de6ec262f2db674fe5bce9b"),
    Source("aime25", "yentinglin/aime_2025", "train", 30, "the same problems",
        Columns(solution="solution", id="id", gold=number_gold)),
    Source("aime25", "opencompass/AIME2025", "test", 30, "the same problems, in two configs",
        Columns(question="question", gold=number_gold), configs=("AIME2025-I", "AIME2025-II")),
    Source("aime26", "MathArena/aime_2026", "train", 30, "AIME I and II of 2026",
        Columns(id="problem_idx", gold=number_gold)),
    Source("hmmt25", "MathArena/hmmt_feb_2025", "train", 30, "HMMT of February 2025, formulas for answers",
        Columns(id="problem_idx")),
    Source("brumo25", "MathArena/brumo_2025", "train", 30, "Brown's tournament of 2025, formulas for answers",
        Columns(id="problem_idx")),
    Source("beyondaime", "ByteDance-Seed/BeyondAIME", "test", 100, "harder than AIME, integers",
        Columns(gold=number_gold)),
    Source("olympiadbench", "math-ai/olympiadbench", "test", 674, "olympiads: English, text only, open-ended",
        Columns(question="question", answer="final_answer", id="id", gold=list_gold),
        revision="4faaf1e6ec17d11a4218a9bf4c049ecaf954dd84"),
    Source("olympiadbench", "Hothan/OlympiadBench", "train", 674, "the same problems",
        Columns(question="question", answer="final_answer", id="id", gold=list_gold),
        revision="91184b52131e7fc9455fef848035173aea8cc01a", configs=("OE_TO_maths_en_COMP",)),
    Source("minerva", "math-ai/minervamath", "test", 272, "undergraduate science, with units and constants",
        Columns(question="question"), revision="ee46ddc498933b1977577953250ca5c66be64f96"),
    Source("gsm8k_test", "openai/gsm8k", "test", 1319, "grade school word problems, answers as numbers",
        Columns(question="question"), revision="740312add88f781978c0658806c59bc2815b9866", configs=("main",)),
    Source("gpqa_diamond", "Idavidrein/gpqa", "train", 198, "graduate science, four choices; gated", Choices(),
        revision="83022cefff930aea54f654c0b282e74b9eeda5c6", configs=("gpqa_diamond",), verifier="multiple_choice"),
    Source("livecodebench", "livecodebench/code_generation_lite", "test", None, "contest programs in a window of dates",
        LiveCodeBench(), revision="0fe84c3912ea0c4d4a78037083943e8f0c4dd505", files=RELEASES[RELEASE], verifier="code"),
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
