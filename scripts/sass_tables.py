"""Writes src/binary/data/sass.table, as a whole or some opcodes of it. Used by learn_sass.py."""
import collections

HEADER = '# Made by scripts/learn_sass.py; the format is described in src/binary/README.md.\n'


def read(path):
    """opcode -> its entries' text; and the architectures that the table has."""
    blocks, archs, opcode = collections.defaultdict(str), set(), None
    with open(path) as file:
        for line in file:
            if line.startswith('opcode '):
                opcode = int(line.split()[1], 16)
                archs |= set(line.split()[3].split(','))
            if opcode is not None:
                blocks[opcode] += line
    return blocks, archs


def write(path, tables, kept=None):
    """`tables`: architecture -> opcode -> entries. Opcodes that are not in them stay as they are in `kept`."""
    blocks = dict(kept or {})
    for opcode in {k for table in tables.values() for k in table}:
        # Architectures with the same entries share them.
        users = collections.defaultdict(list)
        for arch in tables:
            if tables[arch].get(opcode):
                users[tuple(tables[arch][opcode])].append(arch.rstrip('a'))
        if users:
            blocks[opcode] = ''.join(block(opcode, entry, archs) for entries, archs in users.items() for entry in entries)
    with open(path, 'w') as file:
        file.write(HEADER + ''.join(blocks[opcode] for opcode in sorted(blocks)))


def block(opcode, entry, archs):
    guard, rest = entry.split('\n', 1)
    return 'opcode %03x %s %s\n%s\n' % (opcode, guard, ','.join(archs), rest)
