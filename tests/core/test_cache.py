import os
import subprocess
import sys

import pytest

PROGRAM = """
import likely.core, jax
print(jax.config.jax_compilation_cache_dir)
jax.jit(lambda x: 2 * x)(1.0)
"""


def run(**settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LIKELY")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_programs_are_kept_in_a_private_folder(tmp_path):
    folder = run(LIKELY_CACHE_DIR=str(tmp_path / "kept"))
    assert folder.startswith(str(tmp_path))
    assert os.stat(folder).st_mode & 0o077 == 0
    assert os.listdir(folder)


def test_the_cache_can_be_switched_off(tmp_path):
    assert run(LIKELY_CACHE="off", LIKELY_CACHE_DIR=str(tmp_path)) == "None"
    assert not os.listdir(tmp_path)


def test_a_configured_cache_is_left_alone(tmp_path):
    own = str(tmp_path / "own")
    assert run(JAX_COMPILATION_CACHE_DIR=own) == own


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
def test_a_folder_others_may_write_to_is_not_used(tmp_path):
    folder = run(LIKELY_CACHE_DIR=str(tmp_path / "kept"))
    os.chmod(folder, 0o777)
    assert run(LIKELY_CACHE_DIR=str(tmp_path / "kept")) == "None"
