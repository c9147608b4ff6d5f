"""Images with boxes as SVG, which a report holds without any other file."""

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from likely.data.detection.pictures import resized
from likely.vision import Detections
from likely.workbench.report.markup import escape

MAX_SIDE = 240
"""The longest side of a picture in the report, in pixels of the image."""
FOUND, TRUE = "#e8590c", "#ffffff"


def picture(
    image: np.ndarray, detections: Detections, true: np.ndarray, min_score: float
) -> str:
    """An image with what is there (dashed) and what was detected.

    Args:
        image: (h, w) or (h, w, c).
        detections: of the image.
        true: (k, 4) what is there.
        min_score: detections with lower scores are not drawn.
    """
    h, w = image.shape[:2]
    zoom = max(h, w) / MAX_SIDE
    size = 11 * zoom
    sure = np.flatnonzero(detections.scores >= min_score)
    parts = [_rectangle(box, TRUE, zoom, dashed=True) for box in true]
    for k in sure:
        x0, y0, *_ = detections.boxes[k]
        words = f"{detections.labels[k]} {detections.scores[k]:.2f}"
        parts.append(_rectangle(detections.boxes[k], FOUND, zoom))
        parts.append(
            f'<text x="{x0:.1f}" y="{max(y0 - 2 * zoom, size):.1f}" fill="{FOUND}" '
            f'font-size="{size:.2f}" font-family="sans-serif">{escape(words)}</text>'
        )
    return (
        f'<svg viewBox="0 0 {w} {h}" role="img"><image width="{w}" height="{h}" '
        f'href="data:image/png;base64,{_png(image)}"/>{"".join(parts)}</svg>'
    )


def _rectangle(box: Any, colour: str, zoom: float, *, dashed: bool = False) -> str:
    x0, y0, x1, y1 = box
    line = f' stroke-dasharray="{3 * zoom:.2f}"' if dashed else ""
    return (
        f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" '
        f'fill="none" stroke="{colour}" stroke-width="{1.5 * zoom:.2f}"{line}/>'
    )


def _png(image: np.ndarray) -> str:
    """An image, made smaller where it is large, as base64 of PNG."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if pixels.dtype != np.uint8:
        pixels = np.clip(255 * pixels.astype(np.float64), 0, 255).astype(np.uint8)
    h, w = pixels.shape[:2]
    if max(h, w) > MAX_SIDE:
        zoom = MAX_SIDE / max(h, w)
        shape = max(1, round(zoom * h)), max(1, round(zoom * w))
        pixels = np.round(resized(pixels, shape)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode("ascii")
