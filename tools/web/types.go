package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// schema is what is read of a JSON schema in the description of the API.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"` // a name, or several
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Required    []string           `json:"required"`
}

// types writes the API's types as TypeScript has them, so that a page that uses
// a field which is not there does not pass its check.
func types(web string, args []string) error {
	out, err := target(args, filepath.Join(web, "src", "api", "types.ts"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(web, "..", "api", "openapi.json"))
	if err != nil {
		return err
	}
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("api/openapi.json: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("// Generated from api/openapi.json by `go run . types` in tools/web; do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		if s.Properties == nil {
			fmt.Fprintf(&b, "\nexport type %s = %s\n", name, s.typescript())
			continue
		}
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p, mark := s.Properties[field], "?"
			if slices.Contains(s.Required, field) {
				mark = ""
			} else if names, ok := p.Type.([]any); ok && len(names) == 2 && names[1] == "null" {
				p.Type = names[0] // what is empty is absent, never null
			}
			if p.Description != "" {
				fmt.Fprintf(&b, "  /** %s */\n", strings.ReplaceAll(p.Description, "*/", "* /"))
			}
			if strings.ContainsAny(field, "$-.") {
				field = strconv.Quote(field)
			}
			fmt.Fprintf(&b, "  %s%s: %s\n", field, mark, p.typescript())
		}
		b.WriteString("}\n")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

func (s *schema) typescript() string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	if len(s.Enum) > 0 {
		var all []string
		for _, v := range s.Enum {
			text, err := json.Marshal(v)
			if err != nil {
				return "unknown"
			}
			all = append(all, string(text))
		}
		return strings.Join(all, " | ")
	}
	names, several := s.Type.([]any)
	if !several {
		names = []any{s.Type}
	}
	var all []string
	for _, n := range names {
		all = append(all, s.one(fmt.Sprint(n)))
	}
	return strings.Join(all, " | ")
}

// one is a type of this name.
func (s *schema) one(name string) string {
	switch name {
	case "string", "boolean", "null":
		return name
	case "integer", "number":
		return "number"
	case "array":
		if s.Items == nil {
			return "unknown[]"
		}
		if t := s.Items.typescript(); strings.Contains(t, "|") {
			return "(" + t + ")[]"
		} else {
			return t + "[]"
		}
	case "object":
		var of schema
		if json.Unmarshal(s.Additional, &of) == nil && (of.Type != nil || of.Ref != "") {
			return "Record<string, " + of.typescript() + ">"
		}
		return "Record<string, unknown>"
	default:
		return "unknown"
	}
}
