#pragma once

#include <string_view>

namespace fathom {

/// What a kind of finding means in general, for somebody who meets it for the first time.
struct FindingKind {
  std::string_view id;     ///< "strength-reduction"
  std::string_view title;  ///< "Cheaper arithmetic"
  std::string_view help;   ///< the problem and the usual way out, in one or two sentences
};
/// An unknown kind gets a general explanation and itself as the title.
FindingKind explain_kind(std::string_view id);

}  // namespace fathom
