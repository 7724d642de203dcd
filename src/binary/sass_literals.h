#pragma once

#include <string>

#include "binary/sass_table.h"

namespace fathom {

/// Writes a number of an instruction as nvdisasm does. `bfloat16`: what numbers of 16 bits are.
void append_literal(const SassEntry& entry, size_t literal, const SassWord& word, bool bfloat16,
                    std::string& text);

}  // namespace fathom
