# cmake -DOUTPUT=sass_data.cpp -DINPUT=data/sass.table -P embed_sass.cmake
# writes a source file that holds the table as one string. Compilers limit the length of a literal, so it is cut.
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(content "#include \"binary/sass_data.h\"\n\nnamespace fathom {\n\nstd::string_view sass_data() {\n  static constexpr char kText[] =\n")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 60000 part)
  string(APPEND content "R\"sass(${part})sass\"\n")
  math(EXPR at "${at} + 60000")
endwhile()
string(APPEND content ";\n  return std::string_view(kText, sizeof kText - 1);\n}\n\n}  // namespace fathom\n")
file(WRITE ${OUTPUT} "${content}")
