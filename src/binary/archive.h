#pragma once
// ar archives (static libraries), as System V and GNU write them.

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fathom {

struct ArchiveMember {
  std::string name;
  Bytes data;
};

bool is_archive(Bytes bytes);
/// The members, without the tables of symbols and names. Errors: a damaged or cut header, a member
/// that reaches beyond the file, a thin archive (its members are files of their own).
Result<std::vector<ArchiveMember>> read_archive(Bytes bytes, const std::string& where);

}  // namespace fathom
