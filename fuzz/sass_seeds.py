#!/usr/bin/env python3
"""Machine code as inputs for sass_fuzz: sass_seeds.py FOLDER CUBINS..., one file for each function and architecture."""

import pathlib
import struct
import sys

ARCHITECTURES = 9  # as in sass_fuzz.cpp


def code_of(cubin: bytes):
    """The contents of the sections named .text.*"""
    sections, _, _, _, _, size, count, names = struct.unpack_from("<QIHHHHHH", cubin, 40)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, sections + i * size) for i in range(count)]
    text = headers[names][4]
    for name, _, _, _, offset, length, *_ in headers:
        if cubin[text + name :].startswith(b".text."):
            yield cubin[offset : offset + length]


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in (path for argument in sys.argv[2:] for path in pathlib.Path(argument).glob("*.cubin")):
        for number, code in enumerate(code_of(path.read_bytes())):
            for architecture in range(ARCHITECTURES):
                (folder / f"{path.stem}-{number}-{architecture}").write_bytes(bytes([architecture]) + code[:2048])


main()
