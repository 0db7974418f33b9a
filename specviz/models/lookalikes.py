"""What a file that is no GGUF file seems to be, in words that lead to the right one."""

from __future__ import annotations

import re

_CONVERT = "Look for a GGUF conversion of the model, or convert it with llama.cpp's scripts."
_AGAIN = "Download it again."

_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"FUGG", "is a big-endian GGUF file, made for another kind of processor.",
     "Look for the ordinary (little-endian) file of this model."),
    (b"PK\x03\x04", "is not a GGUF file but a ZIP archive, as PyTorch writes its checkpoints.",
     _CONVERT),
    (b"\x80\x02", "is not a GGUF file but a pickled PyTorch checkpoint.", _CONVERT),
    (b"lmgg", "is a model in llama.cpp's oldest format (GGML), which is no longer read.",
     _CONVERT),
    (b"fmgg", "is a model in one of llama.cpp's old formats (GGMF), which is no longer read.",
     _CONVERT),
    (b"tjgg", "is a model in one of llama.cpp's old formats (GGJT), which is no longer read.",
     _CONVERT),
    (b"algg", "is an adapter in one of llama.cpp's old formats (GGLA), which is no longer read.",
     _CONVERT),
    (b"version https://git-lfs", "is only a pointer of Git LFS; the model itself was not fetched.",
     "Run 'git lfs pull' in its folder, or download the file from the model's page."),
    (b"\x89HDF", "is not a GGUF file but an HDF5 file, as Keras writes its models.", _CONVERT),
    (b"\x93NUMPY", "is not a GGUF file but a NumPy array.", _CONVERT),
    (b"\x1f\x8b", "is not a GGUF file but a gzip archive.", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "is not a GGUF file but a Zstandard archive.", "Unpack it first."),
    (b"\xfd7zXZ", "is not a GGUF file but an xz archive.", "Unpack it first."),
    (b"7z\xbc\xaf", "is not a GGUF file but a 7-Zip archive.", "Unpack it first."),
    (b"Rar!", "is not a GGUF file but a RAR archive.", "Unpack it first."),
    (b"%PDF", "is not a GGUF file but a PDF document.", ""),
)  # fmt: skip


def what_it_looks_like(head: bytes, size: int) -> tuple[str, str]:
    """The rest of a sentence that begins with the file's name, and a hint (may be empty).

    Args:
        head: the first bytes of the file, 4096 or all there are.
        size: of the whole file, in bytes.
    """
    if size == 0:
        return "is empty.", "The download probably never began. " + _AGAIN
    if not head.strip(b"\0"):
        return "begins with nothing but zeros: it is incomplete.", _AGAIN
    for beginning, reason, hint in _BEGINNINGS:
        if head.startswith(beginning):
            return reason, hint
    if len(head) > 9 and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") < size:
        return "is not a GGUF file but a safetensors file.", _CONVERT
    if re.match(rb"\s*(\xef\xbb\xbf)?\s*<(!doctype html|html|\?xml|head)", head, re.IGNORECASE):
        return "is not a model but a web page: the download went wrong.", _AGAIN
    if re.match(rb"\s*[{\[]", head):
        return "is not a GGUF file but a text file (JSON).", "Choose the .gguf file of the model."
    if b"GGUF".startswith(head):
        return "is incomplete: it ends inside its first word.", _AGAIN
    if _is_text(head):
        return "is not a GGUF file but a text file.", "Choose the .gguf file of the model."
    return "is not a GGUF file.", "SpecViz runs models in llama.cpp's GGUF format."


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # a character cut at the end of the sample is fine
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\r\n\t\f" for character in text)
