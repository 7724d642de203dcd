#!/usr/bin/env python3
"""Counts what CUDA's math functions cost, precise and fast: the table in src/advice/math_functions.cpp.

usage: count_math.py FATHOM [NVCC]

For each function a kernel that does nothing else is compiled without and with -use_fast_math. Printed
are the instructions of the common path (slow paths are calls, or the longer side of a branch) and the
sum of their issue delays, with 18 cycles more for results that come through a scoreboard; both less
those of a kernel that only copies.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FUNCTIONS = {"division": "x/y", "reciprocal": "1.0f/x", "root": "sqrtf(x)", "exp": "expf(x)",
             "exp_ten": "exp10f(x)", "log": "logf(x)", "log_two": "log2f(x)", "sine": "sinf(x)",
             "cosine": "cosf(x)", "tangent": "tanf(x)", "power": "powf(x,y)", "tanh": "tanhf(x)"}
COPY = "copy"
# What every kernel has: its address, load and store.
FRAME = ("LDC", "S2R", "S2UR", "ULDC", "LDG", "STG", "EXIT", "IMAD.WIDE", "NOP")
SCOREBOARD = ("MUFU", "F2I", "FRND")
SCOREBOARD_CYCLES = 18


def source():
    return "".join(
        f"__global__ void {name}(const float* a, const float* b, float* o) {{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  float x = a[i], y = b[i];\n  o[i] = {expression};\n}}\n"
        for name, expression in {COPY: "x", **FUNCTIONS}.items())


def instructions(fathom, cubin, name):
    """(offset, issue delay, text) of each."""
    text = subprocess.run([fathom, "inspect", cubin, "--disassemble", "--function", name + "(", "--color",
                           "never"], capture_output=True, text=True, check=True).stdout
    found, inside = [], False
    for line in text.splitlines():
        if re.match(r"  [A-Za-z$_][^:]*$", line) and not line.startswith(("  loop", "  offset")):
            inside = line.strip().startswith(name + "(")
        match = re.match(r"    ([0-9a-f]{4})\s+(\d+)\s", line)
        if match and inside:
            found.append((int(match[1], 16), int(match[2]), line[51:].strip()))
    return found


def common_path(code, start=0):
    at = {offset: i for i, (offset, _, _) in enumerate(code)}
    path, i = [], start
    while i < len(code):
        text = code[i][2]
        path.append(code[i])
        if "EXIT" in text:
            break
        jump = re.search(r"BRA (0x[0-9a-f]+)", text)
        if jump:
            target = at.get(int(jump[1], 16), 0)
            if target <= i:
                break
            if text.startswith("@"):
                sides = [common_path(code, i + 1), common_path(code, target)]
                quick = [side for side in sides if not any("CALL" in t for _, _, t in side)]
                return path + (min(quick, key=len) if quick else [])
            i = target
            continue
        i += 1
    return path


def cost(path):
    count = cycles = 0
    for _, delay, text in path:
        opcode = text.split()[1 if text.startswith("@") else 0]
        if opcode.startswith(FRAME):
            continue
        count += 1
        cycles += max(1, delay) + (SCOREBOARD_CYCLES if opcode.startswith(SCOREBOARD) else 0)
    return count, cycles


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1])
    fathom = sys.argv[1]
    nvcc = sys.argv[2] if len(sys.argv) == 3 else "nvcc"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "math.cu").write_text(source())
        for name, flags in (("precise", []), ("fast", ["-use_fast_math"])):
            subprocess.run([nvcc, "-arch=sm_90", "-O3", "-diag-suppress", "177,550", "-cubin", *flags, "-o", folder / f"{name}.cubin",
                            folder / "math.cu"], check=True)
        for function in FUNCTIONS:
            line = f"{function:10}"
            for kind in ("precise", "fast"):
                own, frame = (cost(common_path(instructions(fathom, folder / f"{kind}.cubin", f)))
                              for f in (function, COPY))
                line += f"  {kind} {own[0] - frame[0]:3} instructions {own[1] - frame[1]:4} cycles"
            print(line)


main()
