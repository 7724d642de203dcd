#include "base/result.h"

namespace fathom {

std::string Error::message() const {
  std::string text = where.empty() ? what : where + ": " + what;
  return hint.empty() ? text : text + "; " + hint;
}

}  // namespace fathom
