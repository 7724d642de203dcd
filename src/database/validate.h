#pragma once

#include <string>

#include "model/profile.h"

namespace fathom {

/// The first contradiction in a profile ("context 7: its parent comes later"), or an empty string.
/// Checks each reference, the orders that profile.h promises, and that no tree has a cycle.
std::string find_contradiction(const Profile& profile);

}  // namespace fathom
