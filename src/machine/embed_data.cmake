# cmake -DOUTPUT=machine_data.cpp -DFILES="a.json;b.json" -P embed_data.cmake
# writes a source file that holds the data files as strings.

set(content "#include \"machine/machine_data.h\"\n\nnamespace fathom {\n\nconst std::vector<MachineData>& machine_data() {\n")
string(APPEND content "  static const std::vector<MachineData> files{\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND content "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
string(APPEND content "  };\n  return files;\n}\n\n}  // namespace fathom\n")
file(WRITE ${OUTPUT} "${content}")
