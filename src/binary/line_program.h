#pragma once

#include <vector>

#include "binary/elf.h"
#include "binary/line_table.h"

namespace fathom {

/// Runs the line programs of .debug_line: DWARF 2 to 5 (dwarfstd.org, section 6.2) with NVIDIA's
/// extended opcode 0x90, "the next rows were inlined at row N of this sequence, and their
/// function's name stands at offset M of .debug_str". Units of other versions are left out. Errors:
/// a program that reaches beyond its section or refers to what is not there.
Result<LineTables> read_line_tables(const ElfFile& elf, const std::vector<ElfSymbol>& symbols);

}  // namespace fathom
