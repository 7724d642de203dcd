#!/usr/bin/env python3
"""Learns src/binary/data/sass.table, the table of the native SASS decoder, from nvdisasm.

    sass_shapes LIBRARY... CUBIN... >WORDS
    scripts/learn_sass.py OUTPUT NVDISASM[,NVDISASM...] WORDS [OPCODE...]    some opcodes: the others of OUTPUT stay

nvdisasm disassembles raw words of any architecture (`nvdisasm -b SM90 FILE`), so it can be asked what any bit means.
The words, which tests/sass_differential/sass_shapes takes from real code, only say which opcodes exist and where to
start: an architecture keeps one of each shape that nvdisasm accepts for it. Bits 9 to 11 of an opcode say whether an
operand is a register, a uniform one, an immediate or a constant; forms that no code had are tried with the words of the
others. For an opcode (bits 0 to 11):

1. Each other bit is flipped alone. Bits that change the number of a register together are a register field, bits that
   change a number are a literal; the rest choose modifiers and operands, or do nothing, or are fixed.
2. Pairs of choosing bits are flipped together. Bits whose effects do not add up belong to one group; so do facts that
   nvdisasm's text depends on: "this register is RZ" (written R24), "this literal is 0" (Z0), 1 (O0),
   65536 (H0), another power of 2 (W0).
3. Every value of a group is asked. Its text, cut into pieces, becomes the group's rows; a value that nvdisasm rejects has none.
4. Pairs of rows of different groups are tried at random. Groups that interfere are merged, and 3 is done again.
5. The entry is compared with every shape of the opcode. Shapes that differ start entries of their own, which come first
   and hold only where the bits are those of the shape.

Nothing is asked of hardware, and only what nvdisasm answered gets into the table. README.md of src/binary has its format.
"""
import collections
import itertools
import multiprocessing
import random
import re
import struct
import sys

import sass_tables
from sass_oracle import (LIT, NUMBER, REG, Oracle, align, cut, field, integer, literals, literals_of, put, register_name,
                         registers, skeleton)

STANDARD = {'R': (16, 24, 32, 40, 64), 'P': (81, 84, 87, 77)}
MARKS = {16: 8, 24: 16, 32: 24, 40: 40, 64: 32, 81: 1, 84: 2, 87: 3, 77: 4}
KEPT = ((1 << 105) - 1) & ~0xf000
NEUTRAL = 7 << 12 | 0x000fc000 << 96
MOST_ATOMS = 11
SPECIAL = {'Z': 0, 'O': 1, 'W': 16, 'H': 0x10000}
MOST_ENTRIES = 20
MOST_FOR_NUMBERS = 2  # more entries, for words whose numbers are wrong
MOST_TRIED = 60   # words of a form, for others
UNIFORM_BIT = 91  # set where an operand is a uniform register or a descriptor


class Group:
    def __init__(self, atoms):
        self.atoms = sorted(atoms, key=str)
        self.rows = {}   # tuple of 0/1 -> (mods, ops) templates of the whole text
        self.parts = {}  # the same -> {node: tokens}
        self.nodes = []  # (list 0 or 1, position)


class Entry:
    """What is learned from one word."""

    def __init__(self, opcode, seed, uniform_width, conditions=()):
        self.opcode, self.seed, self.uniform_width = opcode, seed, uniform_width
        self.conditions = dict(conditions)  # bit -> value that must hold
        self.fields = {}    # start -> (file, width)
        self.literals = []  # (kind, [(bit, weight)...], (operand, nth), text in the base)
        self.groups = []

    # --- finding fields -----------------------------------------------------------------------------------------
    def learn(self):
        self.base = self.seed & KEPT | NEUTRAL
        if self.opcode & 0x1fe == 0x24 and self.opcode >> 9 == 4:
            self.base = put(self.base, 32, 32, 0x15)  # IMAD by 1, 2, 4... goes by other names
        for _ in range(3):
            ok = yield from self.look()
            if not ok:
                return False
            if not self.show_hidden_literal():
                break
        yield from self.mark_fields()
        yield from self.find_literals()
        yield from self.find_atoms()
        yield from self.find_groups()
        for _ in range(8):
            self.stale = False
            yield from self.enumerate()
            self.build()
            if not self.stale:
                yield from self.check_pairs()
            if not self.stale:
                break
        yield from self.learn_guard()
        return True

    def bits(self):
        return range(16, 105)

    def look(self):
        texts = yield [self.base] + [self.base ^ 1 << b for b in self.bits()]
        self.text = texts[0]
        self.flips = dict(zip(self.bits(), texts[1:]))
        return self.text is not None

    def show_hidden_literal(self):
        by_skeleton = collections.defaultdict(list)
        here = skeleton(self.text)
        count = sum(o.count('#') for o in here[1])
        for b, t in self.flips.items():
            if t is not None:
                s = skeleton(t)
                if s != here and sum(o.count('#') for o in s[1]) > count and len(s[1]) == len(here[1]):
                    by_skeleton[s].append(b)
        for bits in by_skeleton.values():
            if len(bits) >= 6:
                self.base ^= 1 << bits[4]
                return True
        return False

    def is_field(self, start, width, file):
        value, here, good = field(self.base, start, width), registers(self.text), 0
        old = register_name(file, value, width)
        for k in range(width):
            text = self.flips.get(start + k)
            if text is None:
                continue
            now = registers(text)
            gained, lost = now - here, here - now
            if register_name(file, value ^ 1 << k, width) not in gained or any(name != old for name in lost):
                return False
            good += 1
        return good >= max(3, width - 3)

    def mark_fields(self):
        taken = set()
        for file, width in (('R', 8), ('UR', 8), ('UR', 6), ('P', 3), ('UP', 3)):
            for start in range(16, 105 - width):
                span = set(range(start, start + width))
                if not span & taken and self.is_field(start, width, file):
                    self.fields[start] = (file, width)
                    taken |= span
        for file, starts in STANDARD.items():
            width = 8 if file == 'R' else 3
            for start in starts:
                span = range(start, start + width)
                if not taken & set(span) and all(self.flips[b] == self.text for b in span):
                    self.fields[start] = ('?' + file, width)
                    taken |= set(span)
        self.choose_marks()
        marked = self.base
        for start, mark in self.marks.items():
            marked = put(marked, start, self.fields[start][1], mark)
        text, = yield [marked]
        if text is None:  # one at a time, those that may
            marks, marked = self.marks, self.base
            self.marks = {}
            for start, mark in marks.items():
                trial = put(marked, start, self.fields[start][1], mark)
                text, = yield [trial]
                if text is not None:
                    marked = trial
                    self.marks[start] = mark
            self.fields = {s: f for s, f in self.fields.items() if s in self.marks}
        self.fields = {s: f for s, f in self.fields.items() if s in self.marks}
        self.base = marked
        yield from self.look()

    def choose_marks(self):
        """Numbers for the fields that no other register in the text has."""
        visible = [(f, field(self.base, s, w), w) for s, (f, w) in self.fields.items() if f[0] != '?']
        names = collections.Counter(register_name(*v) for v in visible)
        strange = {(m[0][-1], int(m[1])) for o in cut(self.text)[2] for m in REG.findall(o)
                   if m[1].isdigit() and ''.join(m) not in names}
        spare = {'R': [48, 56, 4, 12, 20, 28, 36, 44, 52, 60], 'P': [1, 2, 3, 4, 5, 6, 0]}
        self.marks = {}
        for hidden in (False, True):
            for start, (file, width) in sorted(self.fields.items()):
                if (file[0] == '?') != hidden:
                    continue
                kind = 'R' if width > 3 else 'P'
                choices = ([MARKS[start]] if start in MARKS and start in STANDARD[kind] else []) + spare[kind]
                used = {m for s, m in self.marks.items() if (self.fields[s][1] > 3) == (kind == 'R')}
                mark = next((c for c in choices if c not in used and (kind, c) not in strange), None)
                if mark is not None:
                    self.marks[start] = mark

    def find_literals(self):
        """Twice: a bit that is a literal's only one makes it 0, which may look different."""
        for _ in range(2):
            self.literals = []
            yield from self.find_literals_once()

    def find_literals_once(self):
        slots = collections.defaultdict(list)
        here, values = skeleton(self.text), literals(self.text)
        covered = {b for s, (_, w) in self.fields.items() for b in range(s, s + w)}
        for b in self.bits():
            t = self.flips[b]
            if b in covered or t is None or skeleton(t) != here:
                continue
            changed = [i for i, (x, y) in enumerate(zip(values, literals(t))) if x != y]
            if len(changed) == 1:
                slots[changed[0]].append((b, values[changed[0]][2], literals(t)[changed[0]][2]))
        base = self.base
        plans = []
        for slot, bits in sorted(slots.items()):
            kind, weights = 'f', []
            if all('0x' in a and '0x' in z for _, a, z in bits):
                kind = 'x'
                for b, a, z in bits:
                    delta = int(z, 16) - int(a, 16)
                    if not field(self.base, b, 1):
                        weights.append((b, delta))
                    else:
                        weights.append((b, -delta))
            elif all(re.fullmatch(r'-?\d+', a + '') and re.fullmatch(r'-?\d+', z) for _, a, z in bits):
                kind = 'd'
                weights = [(b, (int(z) - int(a)) * (-1 if field(self.base, b, 1) else 1)) for b, a, z in bits]
            else:
                weights = [(b, 0) for b, _, _ in bits]
            plans.append((slot, kind, weights))
        for k, (slot, kind, weights) in enumerate(plans):  # a value that is not 0 and not another literal's
            for i, (b, _) in enumerate(weights):
                base = put(base, b, 1, 0)
            pattern = 0x15 + 6 * k if len(weights) >= 6 else 1 + k % ((1 << len(weights)) - 1)
            for i, (b, _) in enumerate(weights):
                if pattern >> i & 1:
                    base = put(base, b, 1, 1)
        text, = yield [base]
        if text is not None and skeleton(text) == here:
            self.base = base
            yield from self.look()
        values = literals(self.text)
        for slot, kind, weights in plans:
            self.literals.append((kind, weights, values[slot][:2], values[slot][2]))

    def find_atoms(self):
        covered = {b for s, (_, w) in self.fields.items() for b in range(s, s + w)}
        covered |= {b for _, weights, _, _ in self.literals for b, _ in weights}
        self.atoms = [b for b in self.bits() if b not in covered]
        self.atoms += ['R%d' % s for s, (f, _) in self.fields.items() if f[0] != '?']
        for k, (_, _, (operand, _), _) in enumerate(self.literals):
            alone = LIT.fullmatch(cut(self.text)[2][operand])
            if '[' in cut(self.text)[2][operand] or self.opcode & 0x1e0 == 0x140 and not alone:
                self.atoms.append('Z%d' % k)
            elif 'IMAD' in self.text and len(self.literals[k][1]) >= 16:
                self.atoms += ['%s%d' % (x, k) for x in SPECIAL]
        return
        yield

    # --- words and templates ------------------------------------------------------------------------------------
    def literal_word(self, word, k, value):
        for b, weight in self.literals[k][1]:
            word = put(word, b, 1, 1 if weight > 0 and value & weight else 0)
        return word

    def apply(self, atoms):
        """The base with these atoms turned; None where they exclude each other."""
        word = self.base
        for a in atoms:
            if isinstance(a, int):
                word ^= 1 << a
            elif a[0] == 'R':
                start = int(a[1:])
                width = self.fields[start][1]
                word = put(word, start, width, (1 << width) - 1)
        for a in atoms:
            if isinstance(a, str) and a[0] in SPECIAL:
                k = int(a[1:])
                if sum('%s%d' % (x, k) in atoms for x in SPECIAL) > 1:
                    return None
                word = self.literal_word(word, k, SPECIAL[a[0]])
        return word

    def template(self, text, fixed=()):
        """`fixed`: which of the registers in the text do not follow a field, counted."""
        _, mods, ops = cut(text)
        seen = itertools.count()
        marks = {(width > 3, self.marks[s]): s for s, (_, width) in self.fields.items()}

        def register(m):
            if next(seen) not in fixed and m.group(2).isdigit():
                start = marks.get(('R' in m.group(1), int(m.group(2))))
                if start is not None:
                    return '{%s%d}' % (m.group(1), start)
            return m.group(0)

        values = {}
        for k, (_, _, _, base_text) in enumerate(self.literals):
            values.setdefault(base_text, k)

        def literal(m):
            k = values.get(m.group(0))
            return m.group(0) if k is None else '{#%d}' % k
        # Literals first: what stands in front of a number says whether + belongs to it.
        return mods, tuple(REG.sub(register, LIT.sub(literal, o)) for o in ops)

    def with_defaults(self, tokens, atoms):
        starts = {int(a[1:]) for a in atoms if isinstance(a, str) and a[0] == 'R'}
        special = {int(a[1:]): SPECIAL[a[0]] for a in atoms if isinstance(a, str) and a[0] in SPECIAL}
        if not starts and not special:
            return tuple(tokens)

        def fill(m):
            file, at = m.group(1), int(m.group(2))
            if file == '#':
                return '{#%d}' % at if at not in special else '0x%x' % special[at]
            return file + ('T' if 'P' in file else 'Z') if at in starts else m.group(0)
        return tuple(re.sub(r'\{([A-Z#]+)(\d+)\}', fill, t) for t in tokens)

    def difference(self, text, atoms):
        d = collections.Counter()
        base, now = self.template(self.text), self.template(text)
        for which in (0, 1):
            for t in now[which]:
                d[which, t] += 1
            for t in self.with_defaults(base[which], atoms):
                d[which, t] -= 1
        return {k: v for k, v in d.items() if v}

    # --- groups -------------------------------------------------------------------------------------------------
    def find_groups(self):
        singles = dict(zip(self.atoms, (yield [self.apply([a]) for a in self.atoms])))
        pairs = list(itertools.combinations(self.atoms, 2))
        words = [self.apply(p) for p in pairs]
        asked = [w for w in words if w is not None]
        answers = dict(zip(asked, (yield asked)))
        effect = {a: self.difference(t, [a]) if t is not None else None for a, t in singles.items()}
        parent = {a: a for a in self.atoms}

        def root(a):
            while parent[a] != a:
                a = parent[a]
            return a
        linked = set()
        for (a, b), w in zip(pairs, words):
            if w is None:
                parent[root(a)] = root(b)
                continue
            t = answers[w]
            if t is None:
                link = effect[a] is not None and effect[b] is not None
            elif effect[a] is None or effect[b] is None:
                link = True
            else:
                want = collections.Counter()
                for e in (effect[a], effect[b]):
                    for (which, token), n in e.items():
                        want[which, self.with_defaults([token], (a, b))[0]] += n
                link = {k: v for k, v in want.items() if v} != self.difference(t, (a, b))
            if link:
                parent[root(a)] = root(b)
                linked |= {a, b}
        members = collections.defaultdict(list)
        for a in self.atoms:
            if effect[a] is None and a not in linked:
                if isinstance(a, int):
                    self.conditions[a] = field(self.base, a, 1)
            elif a in linked or effect[a]:
                members[root(a)].append(a)
        self.groups = [Group(m) for m in members.values()]

    def project(self, group, word):
        return tuple(self.holds(a, word) for a in group.atoms)

    def literal_value(self, k, word):
        return sum(weight for b, weight in self.literals[k][1] if field(word, b, 1))

    def holds(self, atom, word):
        """Whether an atom is turned, seen from the base."""
        if isinstance(atom, int):
            return field(word ^ self.base, atom, 1)
        at = int(atom[1:])
        if atom[0] == 'R':
            width = self.fields[at][1]
            return int(field(word, at, width) == (1 << width) - 1)
        v = self.literal_value(at, word)
        if atom[0] == 'W':
            return int(v > 1 and v != SPECIAL['H'] and v & v - 1 == 0)
        return int(v == SPECIAL[atom[0]])

    def enumerate(self):
        asked = []
        for g in self.groups:
            n = len(g.atoms)
            if n <= MOST_ATOMS:
                values = set(itertools.product((0, 1), repeat=n))
            else:
                values = {self.project(g, w) for w in self.shapes}
                values.add((0,) * n)
                for i, j in itertools.combinations_with_replacement(range(n), 2):
                    values.add(tuple(int(k in (i, j)) for k in range(n)))
                chance, known = random.Random(n), sorted(values)
                for v in known[:300]:
                    for i in range(n):
                        values.add(v[:i] + (1 - v[i],) + v[i + 1:])
                for _ in range(3000):
                    x, y = chance.choice(known), chance.choice(known)
                    values.add(tuple(chance.choice(z) for z in zip(x, y)))
            for v in sorted(values):
                w = self.apply([a for a, on in zip(g.atoms, v) if on])
                if w is not None:
                    asked.append((g, v, w))
        texts = yield [w for _, _, w in asked]
        for g in self.groups:
            g.rows = {}
        fixed = yield from self.coincidences([(w, t) for (_, _, w), t in zip(asked, texts) if t is not None])
        for (g, v, w), t in zip(asked, texts):
            if t is not None:
                g.rows[v] = self.template(t, fixed.get(w, ()))

    def coincidences(self, answers):
        """Registers that only look like a field's because their number is its mark: they stay when it changes."""
        pattern = re.compile(r'\{(?:U?[RP])(\d+)\}')
        usual = collections.Counter(pattern.findall(str(self.template(self.text))))
        checks = []
        for word, text in answers:
            now = collections.Counter(pattern.findall(str(self.template(text))))
            for start in now - usual:
                width = self.fields[int(start)][1]
                checks.append((word, text, put(word, int(start), width, 59 if width > 3 else self.marks[int(start)] ^ 7)))
        other = yield [w for _, _, w in checks]
        fixed = collections.defaultdict(set)
        moved = collections.defaultdict(set)
        for (word, text, _), t in zip(checks, other):
            if t is None:
                continue
            before = REG.findall(' '.join(cut(text)[2]))
            after = REG.findall(' '.join(cut(t)[2]))
            for i, (x, y) in enumerate(zip(before, after)):
                if x != y:
                    moved[word].add(i)
        marks = {(width > 3, self.marks[s]): s for s, (_, width) in self.fields.items()}
        for (word, text, changed) in checks:
            for i, (file, n) in enumerate(REG.findall(' '.join(cut(text)[2]))):
                start = marks.get(('R' in file, int(n))) if n.isdigit() else None
                if start is not None and field(word ^ changed, start, self.fields[start][1]) and i not in moved[word]:
                    fixed[word].add(i)
        return fixed

    def build(self):
        """Cuts texts into pieces that belong to groups, and puts the pieces in order."""
        base = self.template(self.text)
        for g in self.groups:
            g.nodes, g.parts = [], {}
        while True:
            owner, conflict = ({}, {}), None
            for g in self.groups:
                for v, row in g.rows.items():
                    on = [a for a, x in zip(g.atoms, v) if x]
                    for which in (0, 1):
                        plain = self.with_defaults(base[which], on)
                        kept = {i for i, _ in align(plain, row[which])}
                        for at in range(len(plain)):
                            if at not in kept and owner[which].setdefault(at, g) is not g:
                                conflict = (g, owner[which][at])
            if not conflict:
                break
            self.merge(*conflict)
        self.order = ([], [])
        if self.stale:
            return
        for which in (0, 1):
            places = []  # (position, is a base token, group or None, gap)
            for g in self.groups:
                used = {}
                for v, row in g.rows.items():
                    on = [a for a, x in zip(g.atoms, v) if x]
                    plain = self.with_defaults(base[which], on)
                    anchor = {j: i for i, j in align(plain, row[which])}
                    gap, pieces = 0, {}
                    for j, token in enumerate(row[which]):
                        if j in anchor and owner[which].get(anchor[j]) is not g:
                            gap = anchor[j] + 1
                        else:
                            pieces.setdefault(gap, []).append(token)
                    # gaps are named by the token in front that is not the group's own
                    used[v] = pieces
                for gap in sorted({k for p in used.values() for k in p}):
                    position, own = gap, 0
                    while owner[which].get(position) is g:
                        own = 1
                        break
                    node = (which, gap)
                    g.nodes = [n for n in g.nodes if n != node] + [node]
                    for v in g.rows:
                        g.parts.setdefault(v, {})[node] = tuple(used[v].get(gap, ()))
                    places.append((position, own, g, gap))
                for v in g.rows:
                    g.parts.setdefault(v, {})
            for i, token in enumerate(base[which]):
                if owner[which].get(i) is None:
                    places.append((i, 1, None, token))
            places.sort(key=lambda p: (p[0], p[1]))
            self.order[which].extend((g, what) for _, _, g, what in places)

    def merge(self, a, b):
        self.groups = [g for g in self.groups if g is not a and g is not b]
        merged = Group(set(a.atoms) | set(b.atoms))
        self.stale = True
        self.groups.append(merged)

    def compose(self, choice):
        """(mods, ops) where `choice` gives each group's row."""
        out = ([], [])
        for which in (0, 1):
            for g, what in self.order[which]:
                if g is None:
                    out[which].append(what)
                else:
                    out[which].extend(g.parts[choice[g]].get((which, what), ()))
        return tuple(out[0]), tuple(out[1])

    def check_pairs(self):
        chance = random.Random(self.opcode)
        trials = []
        zero = {g: (0,) * len(g.atoms) for g in self.groups}
        for a, b in itertools.combinations(self.groups, 2):
            for _ in range(10):
                choice = dict(zero)
                choice[a], choice[b] = chance.choice(sorted(a.rows)), chance.choice(sorted(b.rows))
                trials.append((a, b, choice))
        words = [self.apply([x for g in (a, b) for x, on in zip(g.atoms, c[g]) if on]) for a, b, c in trials]
        texts = yield [w if w is not None else self.base for w in words]
        wrong, swaps = {}, collections.Counter()
        for (a, b, choice), w, t in zip(trials, words, texts):
            if w is None or t is None:
                continue
            rendered, got = self.render(self.compose(choice), w), skeleton(t)
            for which in (0, 1):
                want, have = rendered[which], got[which]
                if want == have:
                    continue
                if sorted(want) == sorted(have):
                    swaps[which, self.groups.index(a), self.groups.index(b)] += 1
                else:
                    wrong[a, b] = True
        for which, i, j in swaps:
            if not self.swap(which, self.groups[i], self.groups[j]):
                wrong[self.groups[i], self.groups[j]] = True
        became = {}
        for a, b in sorted(wrong, key=lambda p: len(p[0].atoms) + len(p[1].atoms)):
            while a in became:
                a = became[a]
            while b in became:
                b = became[b]
            if a is not b and len(a.atoms) + len(b.atoms) <= MOST_ATOMS + 1:
                self.merge(a, b)
                became[a] = became[b] = self.groups[-1]

    def swap(self, which, a, b):
        """Exchanges pieces of two groups that stand side by side."""
        order = self.order[which]
        at = [i for i, (g, _) in enumerate(order) if g in (a, b)]
        for i, j in zip(at, at[1:]):
            if order[i][0] is not order[j][0] and j == i + 1:
                order[i], order[j] = order[j], order[i]
                return True
        return False

    def learn_guard(self):
        text, = yield [put(self.base, 12, 4, 1)]
        self.guard = 'UP' if text and text.startswith('@UP') else 'P'

    # --- using it -----------------------------------------------------------------------------------------------
    def matches(self, word):
        return all(field(word, b, 1) == v for b, v in self.conditions.items())

    def predict(self, word):
        """Modifiers and operands with `#` for literals; None where it does not apply."""
        if not self.matches(word):
            return None
        choice = {}
        for g in self.groups:
            v = self.project(g, word)
            if v not in g.parts:
                return None
            choice[g] = v
        return self.render(self.compose(choice), word)

    def right(self, word, text):
        """Whether it says of a word what nvdisasm does, but for the digits of floating-point numbers."""
        return self.predict(word) == skeleton(text) and all(
            a == b for a, b in zip(self.numbers(word), map(integer, literals_of(cut(text)[2]))) if None not in (a, b))

    def numbers(self, word):
        template = self.compose({g: self.project(g, word) for g in self.groups})[1]
        for m in NUMBER.finditer(','.join(re.sub(r'\{U?[RP]\d+\}', 'R', o) for o in template)):
            if m.group(1) is None:
                yield integer(m.group(0))
            else:
                k = int(m.group(1))
                yield None if self.literals[k][0] == 'f' else self.literal_value(k, word)

    def render(self, template, word):
        mods, ops = template

        def fill(m):
            file, at = m.group(1), int(m.group(2))
            if file == '#':
                return '#'
            width = 3 if 'P' in file else self.width(file, at)
            return register_name(file, field(word, at, width), width)
        return mods, tuple(LIT.sub('#', re.sub(r'\{([A-Z#]+)(\d+)\}', fill, o)) for o in ops)

    def width(self, file, at):
        known, width = self.fields[at]
        return width if known == file else (8 if file == 'R' else self.uniform_width)

    def lines(self):
        out = [self.guard]
        mask = sum(1 << b for b in self.conditions)
        value = sum(1 << b for b, v in self.conditions.items() if v)
        out.append('fixed %x %x' % (mask, value))
        for k, (kind, weights, _, _) in enumerate(self.literals):
            out.append('literal %d %s %s' % (k, kind, ' '.join(self.runs(weights))))
        number = {g: i for i, g in enumerate(self.groups)}
        for which, name in ((0, 'name'), (1, 'operands')):
            nodes = []
            for g, what in self.order[which]:
                if g is None:
                    nodes.append(what.replace(' ', '%'))
                else:
                    nodes.append('$%d.%d' % (number[g], g.nodes.index((which, what))))
            out.append((name + ' ' + ' '.join(nodes)).rstrip())
        for g in self.groups:
            out.append('group ' + ' '.join(str(a) for a in g.atoms))
            ints = [a if isinstance(a, int) else None for a in g.atoms]
            for v in sorted(g.parts):
                index = sum((x ^ (field(self.base, a, 1) if a is not None else 0)) << i
                            for i, (x, a) in enumerate(zip(v, ints)))
                pieces = []
                for node in g.nodes:
                    pieces.append(('.' if node[0] == 0 else ',').join(g.parts[v].get(node, ())).replace(' ', '%'))
                if not any('INVALID' in p for p in pieces):
                    out.append(' %x %s' % (index, ' '.join(p or '-' for p in pieces)))
        widths = {}
        for at, (file, width) in sorted(self.fields.items()):
            widths[at] = width if file[-1] != 'R' or file[0] == 'U' else 8
        used = set(re.findall(r'\{(U?[RP])(\d+)\}', '\n'.join(out)))
        used |= {('R', a[1:]) for g in self.groups for a in g.atoms if isinstance(a, str) and a[0] == 'R'}
        out.insert(2, 'fields ' + ' '.join('%s:%d' % (a, self.width_of(int(a)))
                                           for a in sorted({a for _, a in used}, key=int)))
        return [line.rstrip() for line in out]

    def width_of(self, at):
        return self.fields[at][1]

    @staticmethod
    def runs(weights):
        """bit:weight of the first of consecutive bits, and how many: 32+32*1"""
        out, i = [], 0
        weights = sorted(weights)
        while i < len(weights):
            j = i
            while (j + 1 < len(weights) and weights[j + 1][0] == weights[j][0] + 1 and
                   weights[j + 1][1] == 2 * weights[j][1]):
                j += 1
            out.append('%d+%d*%d' % (weights[i][0], j - i + 1, weights[i][1]))
            i = j + 1
        return out


def shape_of(word):
    """What two words of an opcode must have in common for one of them to be enough."""
    ones = tuple(field(word, at, 8) == 255 for at in (16, 24, 32, 64))
    return field(word, 72, 33), ones, field(word, 32, 32) == 0, field(word, 40, 24) == 0


def learn_opcode(opcode, shapes, uniform_width, log):
    """Entries for one opcode, in the order in which they are to be tried."""
    asked = [w & KEPT | NEUTRAL for w in shapes]
    texts = yield asked
    accepted = {}
    for w, t in zip(asked, texts):
        if t is not None:
            accepted.setdefault(shape_of(w), (w, t))
    words, texts = [w for w, _ in accepted.values()], [t for _, t in accepted.values()]
    entries, tried = [], set()

    def wrong(exactly):
        for word, text in zip(words, texts):
            entry = next((x for x in entries if x.predict(word) is not None), None)
            if entry is None or not (entry.right(word, text) if exactly else entry.predict(word) == skeleton(text)):
                yield word
    tries = [False] * MOST_ENTRIES + [True] * MOST_FOR_NUMBERS  # what is wrong but for numbers comes first
    for exactly in tries:
        seed = next((w for w in wrong(exactly) if w not in tried), None)
        if seed is None:
            continue
        tried.add(seed)
        rival = next((e for e in entries if e.predict(seed) is not None), None)
        e = Entry(opcode, seed, uniform_width)
        e.shapes = words
        ok = yield from e.learn()
        if ok and e.predict(seed) == skeleton(accepted[shape_of(seed)][1]):
            if rival is None:
                entries.append(e)
            else:
                for g in rival.groups:
                    for a in g.atoms:
                        if isinstance(a, int) and field(rival.base ^ seed, a, 1):
                            e.conditions[a] = field(seed, a, 1)
                entries.insert(entries.index(rival), e)
    left = list(wrong(False))
    log.append((opcode, len(words), len(entries), len(left), left[:2]))
    return entries


def run_all(oracle, tasks):
    """Runs generators that yield words, asking for all of them at once."""
    results, waiting = {}, {}
    for key, task in tasks.items():
        waiting[key] = (task, next(task))
    while waiting:
        everything = [w for _, words in waiting.values() for w in words]
        answers = dict(zip(everything, oracle.ask(everything)))
        following = {}
        for key, (task, words) in waiting.items():
            try:
                following[key] = (task, task.send([answers[w] for w in words]))
            except StopIteration as stop:
                results[key] = stop.value
        waiting = following
    return results


# Architectures that nvdisasm knows; the variants with `a` know all that the others know.
ARCHITECTURES = ('70', '72', '75', '80', '86', '87', '88', '89', '90a', '100a', '101a', '103a', '107a', '110a', '120a', '121a')


def read_words(path):
    """opcode -> words, in the file's order."""
    shapes = collections.defaultdict(list)
    with open(path, 'rb') as file:
        for low, high in struct.iter_unpack('<QQ', file.read()):
            shapes[low & 0xfff].append(low | high << 64)
    return shapes


def other_forms(oracle, shapes):
    """The shapes, and words of forms that are missing: those of the other forms with the form's bits changed."""
    nearest = {}
    for opcode, words in shapes.items():
        words = [w & KEPT | NEUTRAL for w in words]
        accepted = [w for w, t in zip(words, oracle.ask(words)) if t is not None]
        if accepted:
            nearest[opcode] = accepted[:MOST_TRIED]
    tried = {}
    for base in {opcode & 0x1ff for opcode in nearest}:
        siblings = [w for form in range(8) for w in nearest.get(form << 9 | base, ())]
        for form in range(8):
            if form << 9 | base not in nearest:
                tried[form << 9 | base] = [put(put(w, 9, 3, form), UNIFORM_BIT, 1, u) for w in siblings for u in (0, 1)]
    answers = oracle.ask([w for words in tried.values() for w in words])
    texts = dict(zip([w for words in tried.values() for w in words], answers))
    found = {k: [w for w in v if texts[w] and 'INVALID' not in texts[w]] for k, v in tried.items()}
    return {**shapes, **{k: shapes.get(k, []) + v for k, v in found.items() if v}}


def learn_architecture(job):
    programs, arch, shapes, with_other_forms = job
    for program in programs.split(','):
        oracle = Oracle(program, 'SM' + arch)
        if oracle.ask([0x7918 | 0x000fc000 << 96])[0] is None:
            continue
        if with_other_forms:
            shapes = other_forms(oracle, shapes)
        log = []
        width = 6 if int(arch.rstrip('a')) < 100 else 8
        tasks = {k: learn_opcode(k, v, width, log) for k, v in shapes.items()}
        entries = run_all(oracle, tasks)
        for opcode, count, _, left, examples in log:
            if left:
                print('sm_%s: %03x: %d of %d shapes are not right, as %s' %
                      (arch, opcode, left, count, oracle.known[examples[0]]), file=sys.stderr)
        return arch, {k: ['\n'.join(e.lines()) for e in v] for k, v in entries.items()}, oracle.asked
    return arch, {}, 0


def main():
    output, programs, words = sys.argv[1:4]
    wanted = {int(opcode, 16) for opcode in sys.argv[4:]}
    shapes = read_words(words)
    if wanted:
        kept, known = sass_tables.read(output)
        shapes = {opcode: shapes[opcode] for opcode in wanted if opcode in shapes}
        archs = [arch for arch in ARCHITECTURES if arch.rstrip('a') in known]
    else:
        kept, archs = None, ARCHITECTURES
    print(sum(map(len, shapes.values())), 'words of', len(shapes), 'opcodes', file=sys.stderr)
    tables = {}
    with multiprocessing.Pool() as pool:
        jobs = [(programs, arch, shapes, not wanted) for arch in archs]
        for arch, table, asked in pool.imap(learn_architecture, jobs, 1):
            print('sm_%s: asked %d words, learned %d opcodes' % (arch, asked, len(table)), file=sys.stderr)
            tables[arch] = table
    sass_tables.write(output, tables, kept)


if __name__ == '__main__':
    main()
