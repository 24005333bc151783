# Prints C source with the text of comments, strings and character constants blanked out, line by
# line, as FILE<TAB>LINE<TAB>CODE. For checks that search for words in code.
FNR == 1 { in_comment = 0 }
{
  line = $0
  code = ""
  n = length (line)
  for (i = 1; i <= n; i++) {
    c = substr (line, i, 1)
    two = substr (line, i, 2)
    if (in_comment) {
      if (two == "*/") { in_comment = 0; i++ }
    } else if (two == "/*") {
      in_comment = 1; i++
    } else if (two == "//") {
      break
    } else if (c == "\"" || c == "'") {
      if (c == "\"" && line ~ /^[ \t]*#[ \t]*include/) { code = code substr (line, i); break }
      code = code c
      for (i++; i <= n && substr (line, i, 1) != c; i++)
        if (substr (line, i, 1) == "\\") i++
      code = code c
    } else {
      code = code c
    }
  }
  printf "%s\t%d\t%s\n", FILENAME, FNR, code
}
