"""The fonts of texts: Han characters in the forms that the reader expects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.timeline.paint.fonts import han_language

ROOT = Path(__file__).resolve().parents[3]
REGIONS = {"zh_CN": "SC", "zh_TW": "TC", "zh_HK": "HK", "ja": "JP", "ko": "KR"}
DRAW = """
import sys
from PySide6.QtGui import QColor, QFont, QGuiApplication, QImage, QPainter
from viewer.timeline.paint.fonts import font
app = QGuiApplication(["x", "-platform", "offscreen"])
made = font(40)
if sys.argv[1:]:
    made = QFont(sys.argv[1])
    made.setPixelSize(40)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
image = QImage(260, 70, QImage.Format.Format_RGB32)
image.fill(QColor("white"))
painter = QPainter(image)
painter.setFont(made)
painter.drawText(5, 50, "直角骨今令")
painter.end()
sys.stdout.buffer.write(bytes(image.constBits()))
"""


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (["zh-Hans-CN", "zh-CN"], "zh-Hans"),
        (["zh"], "zh-Hans"),
        (["zh-SG"], "zh-Hans"),
        (["zh-Hant-TW", "zh-TW"], "zh-Hant"),
        (["zh_TW"], "zh-Hant"),
        (["zh-Hant-HK", "zh-Hant"], "zh-HK"),
        (["zh-MO"], "zh-HK"),
        (["ja-Jpan-JP"], "ja"),
        (["ko-Kore-KR"], "ko"),
        (["en-US", "en", "ja-JP", "zh-CN"], "ja"),
        (["de-DE", "en"], "zh-Hans"),
        ([], "zh-Hans"),
    ],
)
def test_the_first_language_that_writes_han_decides(languages, expected):
    assert han_language(languages) == expected


def drawn(languages, *family):
    environment = os.environ | {"LANG": "en_US.UTF-8", "LC_ALL": "", "LANGUAGE": languages}
    done = subprocess.run(
        [sys.executable, "-c", DRAW, *family], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    return done.stdout


def test_han_characters_have_the_forms_of_the_reader_s_region(qapp):
    from PySide6.QtGui import QFontDatabase

    faces = {language: f"Noto Sans CJK {region}" for language, region in REGIONS.items()}
    if not all(QFontDatabase.hasFamily(face) for face in faces.values()):
        pytest.skip("no Noto Sans CJK of all regions (fonts-noto-cjk) on this machine")
    own = {language: drawn("en", face) for language, face in faces.items()}
    assert len(set(own.values())) >= 4
    for language in REGIONS:
        assert drawn(f"en:{language}") == own[language], language
    assert drawn("en:de") == own["zh_CN"]
