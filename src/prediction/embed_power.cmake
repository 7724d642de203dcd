# cmake -DOUTPUT=power_data.cpp -DFILE=power_h200.json -P embed_power.cmake
# writes a source file that holds the model of power as strings, none longer than compilers promise to take.

file(READ ${FILE} text)
string(LENGTH "${text}" length)
set(content "#include \"prediction/power_data.h\"\n\nnamespace fathom {\n\nconst std::vector<std::string_view>& power_data() {\n")
string(APPEND content "  static const std::vector<std::string_view> pieces{\n")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 60000 piece)
  string(APPEND content "      R\"json(${piece})json\",\n")
  math(EXPR at "${at} + 60000")
endwhile()
string(APPEND content "  };\n  return pieces;\n}\n\n}  // namespace fathom\n")
file(WRITE ${OUTPUT} "${content}")
