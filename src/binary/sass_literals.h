#pragma once

#include <string>

#include "binary/sass_table.h"

namespace fathom {

/// Writes a number of an instruction as nvdisasm does.
void append_literal(const SassEntry& entry, size_t literal, const SassWord& word,
                    std::string& text);

}  // namespace fathom
