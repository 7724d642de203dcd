#include "model/topdown.h"

namespace fathom {
namespace {

using enum TopDown;

constexpr TopDownNode kNodes[] = {
    {cycles, cycles, "GCYCLES", "GPU Cycles", "all sampled warp cycles"},
    {issues, cycles, "GCYCLES:ISU", "Issues", "an instruction was issued: useful work"},
    {issue_compute, issues, "GCYCLES:ISU:COMP", "Compute", "an arithmetic instruction was issued"},
    {issue_vector, issue_compute, "GCYCLES:ISU:COMP:VECT", "Vector",
     "a vector instruction was issued"},
    {issue_matrix, issue_vector, "GCYCLES:ISU:COMP:VECT:MATR", "Matrix",
     "a matrix instruction was issued"},
    {issue_dual, issue_vector, "GCYCLES:ISU:COMP:VECT:DUAL", "Dual",
     "two vector instructions were issued at once"},
    {issue_single, issue_vector, "GCYCLES:ISU:COMP:VECT:SGL", "Single",
     "one vector instruction was issued"},
    {issue_scalar, issue_compute, "GCYCLES:ISU:COMP:SCLR", "Scalar",
     "a scalar instruction was issued"},
    {issue_memory, issues, "GCYCLES:ISU:MEM", "Memory", "a memory instruction was issued"},
    {issue_flat, issue_memory, "GCYCLES:ISU:MEM:FLAT", "Flat",
     "a global memory instruction was issued"},
    {issue_lds, issue_memory, "GCYCLES:ISU:MEM:LDS", "LDS",
     "a shared memory instruction was issued"},
    {issue_lds_direct, issue_memory, "GCYCLES:ISU:MEM:LDSD", "LDS Direct",
     "a direct shared memory read was issued"},
    {issue_texture, issue_memory, "GCYCLES:ISU:MEM:TEX", "Texture",
     "a texture instruction was issued"},
    {issue_communication, issues, "GCYCLES:ISU:COMM", "Communication",
     "a message or an export was issued"},
    {issue_message, issue_communication, "GCYCLES:ISU:COMM:MESG", "Message",
     "a message was issued"},
    {issue_export, issue_communication, "GCYCLES:ISU:COMM:XPRT", "Export", "an export was issued"},
    {issue_control, issues, "GCYCLES:ISU:CFLOW", "Control Flow", "a jump or a branch was issued"},
    {issue_jump, issue_control, "GCYCLES:ISU:CFLOW:JMP", "Jump", "a jump was issued"},
    {issue_branch, issue_control, "GCYCLES:ISU:CFLOW:BR", "Branch", "a branch was issued"},
    {issue_branch_taken, issue_branch, "GCYCLES:ISU:CFLOW:BR:TKN", "Taken",
     "a taken branch was issued"},
    {issue_branch_not_taken, issue_branch, "GCYCLES:ISU:CFLOW:BR:NTKN", "Not Taken",
     "an untaken branch was issued"},
    {issue_synchronization, issues, "GCYCLES:ISU:SYNC", "Synchronization",
     "a synchronization was issued"},
    {issue_other, issues, "GCYCLES:ISU:OTHR", "Other", "another instruction was issued"},
    {exposed, cycles, "GCYCLES:STL", "Exposed Stalls",
     "the warp waited and nothing else ran meanwhile: lost time"},
    {front_end, exposed, "GCYCLES:STL:FE", "Front End Stalls", "waiting for instructions"},
    {instruction_fetch, front_end, "GCYCLES:STL:FE:IFET", "Instruction Fetch Stalls",
     "waiting for the next instructions to be fetched"},
    {back_end, exposed, "GCYCLES:STL:BE", "Back End Stalls", "waiting for data or for a unit"},
    {compute, back_end, "GCYCLES:STL:BE:COMP", "Compute Stalls", "waiting for arithmetic"},
    {instruction_dependence, compute, "GCYCLES:STL:BE:COMP:IDEP", "Instruction Dependence Stalls",
     "waiting for the result of an earlier arithmetic instruction"},
    {memory, back_end, "GCYCLES:STL:BE:MEM", "Memory Stalls", "waiting for memory"},
    {memory_latency, memory, "GCYCLES:STL:BE:MEM:LAT", "Latency Stalls",
     "waiting for data to arrive (shared memory counts here itself)"},
    {global_memory, memory_latency, "GCYCLES:STL:BE:MEM:LAT:GMEM", "Global Memory Stalls",
     "waiting for data from global or local memory"},
    {constant_memory, memory_latency, "GCYCLES:STL:BE:MEM:LAT:CMEM", "Constant Memory Stalls",
     "waiting for data from constant memory"},
    {texture_memory, memory_latency, "GCYCLES:STL:BE:MEM:LAT:TMEM", "Texture Memory Stalls",
     "waiting for data from a texture"},
    {memory_request, memory, "GCYCLES:STL:BE:MEM:REQ", "Request Issue Stalls",
     "waiting to send a memory request, often because accesses are not coalesced"},
    {flat_request, memory_request, "GCYCLES:STL:BE:MEM:REQ:FLAT", "Flat Request Issue Stalls",
     "the queue for global and local memory is full"},
    {texture_request, memory_request, "GCYCLES:STL:BE:MEM:REQ:TEX", "Texture Request Issue Stalls",
     "the queue for textures is full"},
    {lds_request, memory_request, "GCYCLES:STL:BE:MEM:REQ:LDS", "LDS Request Issue Stalls",
     "the queue for shared memory is full"},
    {resource, back_end, "GCYCLES:STL:BE:RES", "Resource Stalls", "waiting for a unit"},
    {branch_unit, resource, "GCYCLES:STL:BE:RES:BUNIT", "Branch Unit Stalls",
     "waiting for a branch to be resolved"},
    {pipeline, resource, "GCYCLES:STL:BE:RES:PIPE", "Pipeline Stalls",
     "waiting for a busy arithmetic unit"},
    {synchronization, back_end, "GCYCLES:STL:BE:SYNC", "Synchronization Stalls",
     "waiting for other warps at a barrier or fence"},
    {miscellaneous, back_end, "GCYCLES:STL:BE:MISC", "Miscellaneous Stalls",
     "waiting for another reason"},
    {internal, miscellaneous, "GCYCLES:STL:BE:MISC:INT", "Internal Instruction Stalls",
     "waiting for an internal instruction"},
    {TopDown::sleep, miscellaneous, "GCYCLES:STL:BE:MISC:SLP", "Sleep Stalls",
     "sleeping on request"},
    {other, miscellaneous, "GCYCLES:STL:BE:MISC:OTHR", "Other Stalls",
     "waiting for a reason that has no name"},
    {hidden, cycles, "GCYCLES:HSTL", "Hidden Stalls",
     "the warp waited, but another warp ran meanwhile: no loss"},
    {not_selected, hidden, "GCYCLES:HSTL:NSEL", "Not Selected",
     "ready, but another warp was chosen"},
    {other_hidden, hidden, "GCYCLES:HSTL:OTHR", "Other Hidden",
     "waiting, hidden by another warp's work"},
};
static_assert(sizeof kNodes / sizeof kNodes[0] == kTopDownCount);

}  // namespace

std::span<const TopDownNode> topdown_nodes() {
  return kNodes;
}
const TopDownNode& topdown_node(TopDown id) {
  return kNodes[static_cast<size_t>(id)];
}

TopDownCounts& TopDownCounts::operator+=(const TopDownCounts& counts) {
  for (size_t i = 0; i < kTopDownCount; ++i) own[i] += counts.own[i];
  return *this;
}

TopDownCounts TopDownCounts::inclusive() const {
  TopDownCounts sums = *this;
  for (size_t i = kTopDownCount; i-- > 1;) sums[kNodes[i].parent] += sums.own[i];
  return sums;
}

}  // namespace fathom
