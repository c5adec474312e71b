#pragma once
#include <malloc.h>
#include <stddef.h>

/// The counts by which two programs can be seen to have read the same stream.
struct parse_xml_counts {
  size_t stanzas;
  size_t elements;
  size_t attribute_bytes;
  size_t text_bytes;
};

/// Parses one stream in chunks with libxml2's SAX2 push interface, and creates and frees a tree for each stanza. Always
/// counts the stanzas, and with `counting` also their contents. With `owning`, trees own their names; otherwise, they
/// borrow those of the parser. Returns 0, or libxml2's error code.
int parse_xml_in_c(const char *bytes, size_t length, size_t chunk, struct parse_xml_counts *counts, int counting,
                   int owning);
