// The equivalent of a C program that needs each stanza as a tree: attribute values and texts are copied, and the tree
// is freed with the stanza. Names are either pointers into libxml2's dictionary, so that no tree outlives its parser,
// or copies, so that a tree can be kept and passed on like an XMLElement.

#include "ParseXMLInC.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <stdlib.h>
#include <string.h>

struct attribute {
  const xmlChar *name;
  const xmlChar *namespace;
  char *value;
  size_t length;
};

struct node {
  const xmlChar *name;  // NULL for text
  const xmlChar *namespace;
  struct attribute *attributes;
  int attribute_count;
  char *text;
  size_t length;
  size_t capacity;
  struct node *parent;
  struct node *first;
  struct node *last;
  struct node *next;
};

struct state {
  struct node *current;
  int depth;
  int counting;
  int owning;
  struct parse_xml_counts *counts;
};

static const xmlChar *take_name(const struct state *state, const xmlChar *name) {
  return state->owning && name != NULL ? (const xmlChar *)strdup((const char *)name) : name;
}

static struct node *append(struct state *state) {
  struct node *node = calloc(1, sizeof(struct node));
  struct node *parent = state->current;
  node->parent = parent;
  if (parent != NULL) {
    if (parent->last != NULL) parent->last->next = node;
    else parent->first = node;
    parent->last = node;
  }
  return node;
}

static void free_node(const struct state *state, struct node *node) {
  struct node *child = node->first;
  while (child != NULL) {
    struct node *next = child->next;
    free_node(state, child);
    child = next;
  }
  for (int i = 0; i < node->attribute_count; i++) {
    free(node->attributes[i].value);
    if (state->owning) {
      free((void *)node->attributes[i].name);
      free((void *)node->attributes[i].namespace);
    }
  }
  if (state->owning) {
    free((void *)node->name);
    free((void *)node->namespace);
  }
  free(node->attributes);
  free(node->text);
  free(node);
}

static void count(const struct node *node, struct parse_xml_counts *counts) {
  if (node->name == NULL) {
    counts->text_bytes += node->length;
    return;
  }
  counts->elements++;
  for (int i = 0; i < node->attribute_count; i++) counts->attribute_bytes += node->attributes[i].length;
  for (const struct node *child = node->first; child != NULL; child = child->next) count(child, counts);
}

static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *namespace,
                          int namespace_count, const xmlChar **namespaces, int attribute_count,
                          int defaulted, const xmlChar **fields) {
  (void)prefix, (void)namespace_count, (void)namespaces, (void)defaulted;
  struct state *state = context;
  state->depth++;
  if (state->depth == 1) return;
  struct node *node = append(state);
  node->name = take_name(state, name);
  node->namespace = take_name(state, namespace);
  if (attribute_count > 0) {
    node->attributes = malloc(sizeof(struct attribute) * attribute_count);
    node->attribute_count = attribute_count;
    for (int i = 0; i < attribute_count; i++, fields += 5) {
      struct attribute *attribute = &node->attributes[i];
      attribute->name = take_name(state, fields[0]);
      attribute->namespace = take_name(state, fields[2]);
      attribute->length = fields[4] - fields[3];
      attribute->value = malloc(attribute->length + 1);
      memcpy(attribute->value, fields[3], attribute->length);
      attribute->value[attribute->length] = 0;
    }
  }
  state->current = node;
}

static void end_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *namespace) {
  (void)name, (void)prefix, (void)namespace;
  struct state *state = context;
  state->depth--;
  if (state->depth == 0) return;
  struct node *node = state->current;
  state->current = node->parent;
  if (node->parent == NULL) {
    state->counts->stanzas++;
    if (state->counting) count(node, state->counts);
    free_node(state, node);
  }
}

static void characters(void *context, const xmlChar *bytes, int length) {
  struct state *state = context;
  if (state->depth < 2) return;
  struct node *text = state->current->last;
  if (text == NULL || text->name != NULL) text = append(state);
  if (text->length + length + 1 > text->capacity) {
    text->capacity = text->capacity == 0 ? (size_t)length + 1 : 2 * (text->length + length + 1);
    text->text = realloc(text->text, text->capacity);
  }
  memcpy(text->text + text->length, bytes, length);
  text->length += length;
  text->text[text->length] = 0;
}

int parse_xml_in_c(const char *bytes, size_t length, size_t chunk, struct parse_xml_counts *counts,
                   int counting, int owning) {
  struct state state = {.counts = counts, .counting = counting, .owning = owning};
  xmlSAXHandler handler = {
    .initialized = XML_SAX2_MAGIC,
    .startElementNs = start_element,
    .endElementNs = end_element,
    .characters = characters,
    .ignorableWhitespace = characters,
    .cdataBlock = characters,
  };
  xmlParserCtxtPtr context = xmlCreatePushParserCtxt(&handler, &state, NULL, 0, NULL);
  xmlCtxtUseOptions(context, XML_PARSE_NOENT | XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  int status = 0;
  for (size_t start = 0; start < length && status == 0; start += chunk) {
    size_t size = length - start < chunk ? length - start : chunk;
    status = xmlParseChunk(context, bytes + start, (int)size, 0);
  }
  xmlFreeParserCtxt(context);
  return status;
}
