# Embeds the files of a directory into a C++ source file, so that the library needs none of them at run time.
#
# Included: ffpa_embed_templates(<variable> <directory>) sets <variable> to the generated file. It is made again when a
# file changes, and when one is added or removed.
# Run as a script (cmake -P) it writes that file: -DDIRECTORY=... -DOUTPUT=... -DFILES=<list of names>.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(_ffpa_embed_script ${CMAKE_CURRENT_LIST_FILE})

  function(ffpa_embed_templates variable directory)
    file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${directory} ${directory}/*)
    list(SORT names)
    list(TRANSFORM names PREPEND ${directory}/ OUTPUT_VARIABLE paths)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_templates.cpp)
    # The list of names is a file too: a removed template changes no other file's time.
    set(list_file ${CMAKE_CURRENT_BINARY_DIR}/embedded_templates.txt)
    list(JOIN names "\n" lines)
    file(CONFIGURE OUTPUT ${list_file} CONTENT "${lines}\n" @ONLY)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DDIRECTORY=${directory} -DLIST=${list_file} -DOUTPUT=${output} -P
              ${_ffpa_embed_script}
      DEPENDS ${paths} ${list_file} ${_ffpa_embed_script}
      COMMENT "Embedding templates"
      VERBATIM)
    set(${variable} ${output} PARENT_SCOPE)
  endfunction()
  return()
endif()

file(STRINGS ${LIST} names)
set(arrays "")
set(table "")
set(index 0)
foreach(name IN LISTS names)
  file(READ ${DIRECTORY}/${name} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  # One byte more, so that an empty file is no empty array.
  string(APPEND arrays "constexpr unsigned char kFile${index}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${name}\", kFile${index}, sizeof(kFile${index}) - 1},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT}
     "// Made by cmake/EmbedTemplates.cmake from templates/. Do not edit.\n"
     "#include \"codegen/embedded_templates.h\"\n\n"
     "namespace ffpa_jit::codegen {\nnamespace {\n\n"
     "${arrays}\n"
     "constexpr EmbeddedTemplate kTemplates[] = {\n${table}};\n\n"
     "}  // namespace\n\n"
     "std::span<const EmbeddedTemplate> embedded_templates() { return kTemplates; }\n\n"
     "}  // namespace ffpa_jit::codegen\n")
