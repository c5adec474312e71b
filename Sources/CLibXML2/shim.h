#pragma once
// Foundation has an ICU of its own, and Swift refuses to import both into one file: libxml2's headers are read
// without theirs, which only the inside of a struct needs that is never looked into.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
#include <string.h>

// What later releases deprecate or make opaque is reached from here, so that one source fits all.

/// A push parser whose input buffer grows with what it is given: 8 KB are too much for a stream that is idle.
static inline xmlParserCtxtPtr xmpp_xml_create(xmlSAXHandlerPtr handler, void *user) {
#if LIBXML_VERSION < 21400
  int before = xmlDefaultBufferSize;
  xmlDefaultBufferSize = 256;
#endif
  xmlParserCtxtPtr context = xmlCreatePushParserCtxt(handler, user, NULL, 0, NULL);
#if LIBXML_VERSION < 21400
  xmlDefaultBufferSize = before;
#endif
  return context;
}

/// Bytes of the input before the parser's position.
static inline long xmpp_xml_position(xmlParserCtxtPtr context) { return xmlByteConsumed(context); }

/// The byte at the parser's position; 0 at the end of the input.
static inline unsigned char xmpp_xml_byte(xmlParserCtxtPtr context) {
  return context->input->cur < context->input->end ? *context->input->cur : 0;
}

/// Whether a run of text handed to a callback has not been passed by the parser's position yet.
static inline int xmpp_xml_is_ahead(xmlParserCtxtPtr context, const unsigned char *text) {
  return context->input->cur == text;
}

/// What the parser was given behind its position. Gone when it is stopped.
static inline const unsigned char *xmpp_xml_unread(xmlParserCtxtPtr context, long *count) {
  *count = context->input->end - context->input->cur;
  return context->input->cur;
}

/// Whether the parser is inside a CDATA section, of which it hands over a piece at a time.
static inline int xmpp_xml_is_in_cdata(xmlParserCtxtPtr context) {
  return context->instate == XML_PARSER_CDATA_SECTION;
}

/// How many names, prefixes and namespaces the parser has met.
static inline long xmpp_xml_names(xmlParserCtxtPtr context) { return xmlDictSize(context->dict); }

/// The encoding that the XML declaration names, or NULL.
static inline const unsigned char *xmpp_xml_encoding(xmlParserCtxtPtr context) {
  const xmlChar *encoding = (const xmlChar *)context->input->encoding;
  return encoding != NULL ? encoding : (const xmlChar *)context->encoding;
}

/// Take the input as UTF-8 from its first byte, instead of guessing.
static inline void xmpp_xml_use_utf8(xmlParserCtxtPtr context) {
  xmlSwitchEncoding(context, XML_CHAR_ENCODING_UTF8);
}

/// Bound the bytes of all names together, as without XML_PARSE_HUGE.
static inline void xmpp_xml_bound_names(xmlParserCtxtPtr context) {
  xmlDictSetLimit(context->dict, XML_MAX_DICTIONARY_LIMIT);
}

/// A document that the parser made, which SAX handlers are expected to own.
static inline void xmpp_xml_free(xmlParserCtxtPtr context) {
  xmlDocPtr document = context->myDoc;
  context->myDoc = NULL;
  xmlFreeParserCtxt(context);
  if (document != NULL) xmlFreeDoc(document);
}

/// Whether the bytes at two places are the same.
static inline int xmpp_xml_equal(const void *left, const void *right, size_t count) {
  return memcmp(left, right, count) == 0;
}
