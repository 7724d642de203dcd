"""Asks nvdisasm what words of machine code mean, and takes its answers apart. Used by learn_sass.py."""
import collections
import difflib
import re
import struct
import subprocess
import tempfile

REG = re.compile(r'(?<![\w.])(U?[RP])(\d+|Z|T)(?!\w)')
LIT = re.compile(r'(?<![\w.])[+-]?(?:0x[0-9a-f]+|INF|QNAN|SNAN|\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w])')
LINE = re.compile(r'^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*$')
ILLEGAL = re.compile(r'at address (0x[0-9a-f]+)')


def field(word, start, width):
    return word >> start & ((1 << width) - 1)


def put(word, start, width, value):
    mask = ((1 << width) - 1) << start
    return word & ~mask | value << start


class Oracle:
    """nvdisasm for raw words of one architecture."""

    def __init__(self, program, arch):
        self.program, self.arch, self.known = program, arch, {}
        self.asked = 0

    def run(self, words, base=0):
        with tempfile.NamedTemporaryFile(suffix='.bin') as file:
            file.write(b''.join(struct.pack('<QQ', w & (1 << 64) - 1, w >> 64) for w in words))
            file.flush()
            done = subprocess.run([self.program, '-base', hex(base), '-b', self.arch, file.name], capture_output=True, text=True)
        return done.stdout, done.stderr

    def ask(self, words):
        new = list(dict.fromkeys(w for w in words if w not in self.known))
        for start in range(0, len(new), 200000):
            self.ask_new(new[start:start + 200000])
        return [self.known[w] for w in words]

    def ask_new(self, words):
        self.asked += len(words)
        nop = 0x7918 | 0x000fc000 << 96
        out, errors = self.run(words)
        bad = {int(a, 16) // 16 for a in ILLEGAL.findall(errors)}
        if bad:
            out, errors = self.run([nop if i in bad else w for i, w in enumerate(words)])
            if ILLEGAL.search(errors):
                raise RuntimeError('nvdisasm changed its mind')
        moved = []
        for w in words:
            self.known[w] = None
        for line in out.splitlines():
            m = LINE.match(line)
            if m:
                i = int(m.group(1), 16) // 16
                if i not in bad:
                    self.known[words[i]] = m.group(2)
                    if words[i] & 0x1e0 == 0x140:
                        moved.append((i, words[i]))
        if moved:
            self.find_relative(moved)

    def find_relative(self, moved):
        """Writes numbers that depend on the instruction's address as @ and the distance from its end."""
        base = 1 << 20
        out, _ = self.run([w for _, w in moved], base)
        for line in out.splitlines():
            m = LINE.match(line)
            if not m:
                continue
            there = int(m.group(1), 16)
            i, word = moved[(there - base) // 16]
            before = self.known[word]
            spans = list(zip(LIT.finditer(before), LIT.finditer(m.group(2))))
            for x, y in reversed(spans):
                if '0x' in x.group(0) and '0x' in y.group(0):
                    distance = int(x.group(0), 16) - 16 * (i + 1)
                    if distance == int(y.group(0), 16) - there - 16 and '0x' in x.group(0) and x.group(0) != y.group(0):
                        before = before[:x.start()] + '@' + hex(distance) + before[x.end():]
            self.known[word] = before


def cut(text):
    """Guard, modifiers (the name first), operands."""
    guard = ''
    if text.startswith('@'):
        guard, text = text.split(None, 1)
    name, _, rest = text.partition(' ')
    operands, depth, current = [], 0, ''
    for c in rest.strip():
        depth += c in '[(' and 1 or 0
        depth -= c in '])' and 1 or 0
        if c == ',' and depth == 0:
            operands.append(current.strip())
            current = ''
        else:
            current += c
    if current.strip():
        operands.append(current.strip())
    return guard, tuple(name.split('.')), tuple(operands)


def skeleton(text):
    _, mods, ops = cut(text)
    return mods, tuple(LIT.sub('#', o) for o in ops)


def literals(text):
    return [(i, k, m.group(0)) for i, o in enumerate(cut(text)[2]) for k, m in enumerate(LIT.finditer(o))]


def registers(text):
    return collections.Counter(a + b for o in cut(text)[2] for a, b in REG.findall(o))


def register_name(file, value, width):
    last = (1 << width) - 1
    return file + (('T' if 'P' in file else 'Z') if value == last else str(value))


NUMBER = re.compile(r'\{#(\d+)\}|' + LIT.pattern)


def literals_of(operands):
    return [m.group(0) for o in operands for m in LIT.finditer(o)]


def integer(text):
    try:
        return int(text, 0)
    except ValueError:
        return None


def align(a, b):
    """Pairs of positions that hold the same; place by place where that is as good."""
    match = difflib.SequenceMatcher(None, a, b, autojunk=False)
    pairs = [(i + k, j + k) for i, j, n in match.get_matching_blocks() for k in range(n)]
    same = [(i, i) for i in range(min(len(a), len(b))) if a[i] == b[i]]
    return same if len(a) == len(b) and len(same) >= len(pairs) else pairs
