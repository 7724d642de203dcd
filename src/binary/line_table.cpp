#include "binary/line_table.h"

#include <algorithm>

namespace fathom {

const LineRow* LineTables::find(uint32_t section, uint64_t offset) const {
  auto table = rows.find(section);
  if (table == rows.end()) return nullptr;
  auto after =
      std::upper_bound(table->second.begin(), table->second.end(), offset,
                       [](uint64_t wanted, const LineRow& row) { return wanted < row.offset; });
  if (after == table->second.begin()) return nullptr;
  --after;
  return after->end ? nullptr : &*after;
}

}  // namespace fathom
