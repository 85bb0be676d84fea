"""What is secret is not shown, and what the run needs is there."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs import cli
from pacs.base.files import write_atomically
from pacs.base.redaction import BLANK, redact, redacted, redacted_command
from pacs.integration.checks import run as checks
from pacs.integration.checks.run import logger_problem
from pacs.integration.launch.job import take_secrets_into_environment
from pacs.integration.provenance import write_run_folder
from pacs.runs.processes import TOKEN
from pacs.runs.state import read_fault, report_fault
from pacs.verl_keys.algorithm_changes import algorithm_changes

SECRET = [
    "token", "github_token", "HUGGINGFACE_TOKEN", "HF_TOKEN", "hf.token", "access_token", "accessToken",
    "refresh_token", "id_token", "SLACK_BOT_TOKEN", "NPM_TOKEN", "auth.token", "access_key", "private_key",
    "PRIVATE_KEY_PEM", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OPENAI_KEY",
    "openai.key", "KAGGLE_KEY", "api_key", "apiKey", "api-key", "X-API-Key", "x.apikey", "--api-key", "api_keys",
    "WANDB_API_KEY", "ssh_key", "signing_key", "AccountKey", "password", "passwd", "db_password", "PGPASSWORD",
    "MYSQL_PWD", "DB_PASS", "passphrase", "secret", "client_secret", "secrets", "credential", "credentials",
    "authorization", "basic_auth", "webhook_url", "session_cookie", "SENTRY_DSN", "jwt",
    "ray_kwargs.ray_init.runtime_env.env_vars.MISTRAL_KEY",
    "+reward.custom_reward_function.reward_kwargs.judge_token",
]  # fmt: skip
ORDINARY = [
    "max_tokens", "tokenizer", "tokens", "token_entropy", "num_tokens", "keys_seen", "hotkey", "monkey", "keyboard",
    "eos_token", "pad_token", "pad_token_id", "image_token", "prompt_key", "reward_fn_key", "image_key",
    "teacher_key", "key", "tool.key", "of_another_version.key", "token2text", "skip_tokenizer_init",
    "ppo_max_token_len_per_gpu", "profile_token_end", "bypass_mode", "pass_rate", "passes", "forward_pass", "PWD",
    "OLDPWD", "finish_hook_cmd", "author", "author_name", "tokenization_sanity_check_mode", "primary_key",
    "public_key", "private_key_path", "token_file", "pacs/rollout_gap/per_token", "tokens_per_second",
    "secretary_name",
]  # fmt: skip


@pytest.mark.parametrize("key", SECRET)
def test_a_secret_s_key(key: str):
    assert redacted({key: "hush"}) == {key: BLANK}


@pytest.mark.parametrize("key", ORDINARY)
def test_an_ordinary_key(key: str):
    assert redacted({key: "shown"}) == {key: "shown"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:hush@host/path", f"https://{BLANK}@host/path"),
        ("https://hush@host/path", f"https://{BLANK}@host/path"),
        ("redis://:hu/s@h@host:6379/0", f"redis://{BLANK}@host:6379/0"),
        ("me:hush@host:3128", f"{BLANK}@host:3128"),
        ("https://host/x?sig=hush&page=2", f"https://host/x?sig={BLANK}&page=2"),
        ("https://host/x?token=(nothing-but-hush)", f"https://host/x?token={BLANK}"),
        ("Authorization: Basic aHVzaA==", f"Authorization: {BLANK}"),
        ("sent Bearer 0123456789abcdef to it", f"sent Bearer {BLANK} to it"),
        ("HF_TOKEN=hush, n=3", f"HF_TOKEN={BLANK}, n=3"),
        ("{'api_key': 'hush', 'n': 3}", f"{{'api_key': '{BLANK}', 'n': 3}}"),
        ('{"password": 12345}', f'{{"password": {BLANK}}}'),
        ("got hf_0123456789abcdefXY of it", f"got {BLANK} of it"),
        ("sk-0123456789abcdefXY", BLANK),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx", f"{BLANK}\nx"),
    ],
)
def test_a_secret_in_a_text(text: str, shown: str):
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:me/it.git",
        "hf://datasets/me/it@main/x.json",
        "https://host:8080/a@b",
        "https://host/x?_=3&page=2",
        "http://[::1]:8265",
        "pad_token: <pad>, max_tokens=5, token: 7",
        "the password is asked for",
        "basic mathematics by a bearer of good news",
        "step 3/20: loss 0.25, s/step 1.0",
        "{{ bos_token }}{% if key == 'a' %}",
    ],
)
def test_ordinary_texts(text: str):
    assert redact(text) == text


def test_nested_values():
    config = {
        "env": {"HF_TOKEN": "hush", "LANG": "C", "N": 3, "EMPTY_TOKEN": "", "NO_TOKEN": None},
        "credentials": {"user": "hush", "parts": ["hush", {"x": "hush"}], "on": True},
        "judges": [{"url": "https://me:hush@h", "token": "hush", "max_tokens": 5}],
        "password": 12345,
        "api_keys": ["hush"],
        "token": 7,
    }
    assert redacted(config) == {
        "env": {"HF_TOKEN": BLANK, "LANG": "C", "N": 3, "EMPTY_TOKEN": "", "NO_TOKEN": None},
        "credentials": {"user": BLANK, "parts": [BLANK, {"x": BLANK}], "on": True},
        "judges": [{"url": f"https://{BLANK}@h", "token": BLANK, "max_tokens": 5}],
        "password": BLANK,
        "api_keys": [BLANK],
        "token": 7,
    }


def test_a_command_line():
    words = [
        "pacs",
        "train",
        "+a.hf_token=hush",
        "env={OPENAI_KEY:hush}",
        "--token",
        "hush",
        "--max-tokens",
        "5",
        "a=b c",
    ]
    assert redacted_command(words) == [
        "pacs", "train", f"+a.hf_token={BLANK}", f"env={{OPENAI_KEY:{BLANK}}}", "--token", BLANK, "--max-tokens", "5",
        "a=b c",
    ]  # fmt: skip


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


ENV = "ray_kwargs.ray_init.runtime_env.env_vars"


def secretive(run_dir: Path) -> OmegaConf:
    config = {"run": {"dir": str(run_dir)}, "proxy": "https://me:hush@host"}
    config = OmegaConf.create(config)
    OmegaConf.update(config, f"{ENV}.HF_TOKEN", "hush", force_add=True)
    return config


def test_the_run_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """config.yaml is what the driver starts from: true, and its owner's alone; run.json may be shown."""
    monkeypatch.setattr(sys, "argv", ["pacs train", f"+{ENV}.HF_TOKEN=hush", "+proxy=https://me:hush@host"])
    (tmp_path / "config.yaml").touch(mode=0o644)
    umask = os.umask(0)
    try:
        write_run_folder(secretive(tmp_path))
    finally:
        os.umask(umask)
    file = tmp_path / "config.yaml"
    assert mode(file) == 0o600
    assert OmegaConf.load(file) == secretive(tmp_path)
    about = (tmp_path / "run.json").read_text()
    assert "hush" not in about
    assert f"+{ENV}.HF_TOKEN={BLANK}" in json.loads(about)["command"]
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", "run.json"}


def test_a_private_file_is_private_before_it_has_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode)))
    write_atomically(tmp_path / "a", "x", private=True)
    write_atomically(tmp_path / "b", "x")
    assert seen[0] == 0o600
    assert seen[1] & 0o044


def test_a_dry_run_repeats_no_secret(capsys: pytest.CaptureFixture[str]):
    words = [f"+{ENV}.HF_TOKEN=hush", "+data.proxy=https://me:hush@host", "+data.max_tokens=7"]
    cli.main(["train", "--dry-run", "recipe=arithmetic", *words])
    said = capsys.readouterr()
    assert "hush" not in said.out + said.err
    assert "+data.max_tokens=7" in said.out


@pytest.mark.parametrize("how", [["--cfg", "job"], ["-c", "job", "--resolve"]], ids=" ".join)
def test_a_config_is_printed_without_secrets(how: list[str], capsys: pytest.CaptureFixture[str]):
    words = [f"+{ENV}.HF_TOKEN=hush", "+data.proxy=https://me:hush@host", "+data.max_tokens=7"]
    assert cli.main(["train", *how, "recipe=arithmetic", *words]) == 0
    out = capsys.readouterr().out
    assert "hush" not in out
    assert f"HF_TOKEN: {BLANK}" in out
    assert f"https://{BLANK}@host" in out
    assert "max_tokens: 7" in out
    assert "prompt_key: prompt" in out


def test_errors_and_causes(tmp_path: Path):
    assert str(checks.ConfigError(["x=https://me:hush@host: no"])) == f"- x=https://{BLANK}@host: no"
    report_fault(tmp_path, "ProxyError: https://me:hush@host, api_key='hush'")
    assert read_fault(tmp_path) == f"ProxyError: https://{BLANK}@host, api_key='{BLANK}'"


def test_a_secret_that_is_renewed_is_no_other_algorithm_and_a_changed_address_is_shown_without_one():
    before = {"reward": {"judge_token": "hush-1", "judge": "https://me:hush@a"}}
    now = {"reward": {"judge_token": "hush-2", "judge": "https://me:hush@b"}}
    (change,) = algorithm_changes(before, now)
    assert change == f"reward.judge: https://{BLANK}@a in the checkpoint, https://{BLANK}@b now"


def test_ray_is_started_with_no_secret_and_its_children_have_it(monkeypatch: pytest.MonkeyPatch):
    """What `ray.init` is given is in logs that everyone can read; this process's environment is inherited."""
    for name in ("HF_TOKEN", "HTTPS_PROXY", "LANG_OF_IT"):
        monkeypatch.setenv(name, "before")
    variables = {"HF_TOKEN": "hush", "HTTPS_PROXY": "https://me:hush@host", "LANG_OF_IT": "C", TOKEN: "of the start"}
    assert take_secrets_into_environment(variables) == {"LANG_OF_IT": "C", TOKEN: "of the start"}
    seen = [os.environ[name] for name in ("HF_TOKEN", "HTTPS_PROXY", "LANG_OF_IT")]
    assert seen == ["hush", "https://me:hush@host", "before"]


@pytest.mark.parametrize(
    ("trainer", "is_fine"),
    [
        ({"wandb_proxy": "https://host:3128"}, True),
        ({"wandb_proxy": "https://me:hush@host:3128"}, False),
        ({"rl_insight": {"port": 3, "api_key": "hush"}}, False),
        ({}, True),
    ],
)
def test_what_a_logger_needs_of_secrets_does_not_go_through_the_config(trainer: dict, is_fine: bool):
    problem = logger_problem(OmegaConf.create({"trainer": trainer}))
    assert (problem is None) == is_fine
    assert "hush" not in str(problem)
