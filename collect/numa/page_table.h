#pragma once
// The tables that threads count in (abi.h). They are mapped when threads begin, since a large
// thread-local variable would take its room from small stacks, and used again when threads end.

#include "numa/abi.h"

namespace fathom::numa {

/// The calling thread gets a table unless it has one. False if there is no memory: then it comes to
/// the runtime with each access.
bool take_page_table();
bool has_page_table();
/// The table is another's from now on. Its slots must be of no page, or count for nobody.
void give_back_page_table();

/// The page of an address is nobody's: nothing is measured, and the fast path shall find it.
void pass_page_by(uintptr_t address);

}  // namespace fathom::numa
