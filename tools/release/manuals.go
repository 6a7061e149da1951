package main

import (
	"bytes"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manuals are a page of the manual for each command, and what three shells complete
// by, where each of them looks for it.
func manuals(root *cobra.Command, version string, date time.Time) ([]file, error) {
	root.DisableAutoGenTag = true
	var all []file
	for _, shell := range []struct {
		path string
		make func(*bytes.Buffer) error
	}{
		{"share/bash-completion/completions/muster", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"share/zsh/site-functions/_muster", func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
		{"share/fish/vendor_completions.d/muster.fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
	} {
		var text bytes.Buffer
		if err := shell.make(&text); err != nil {
			return nil, err
		}
		all = append(all, file{shell.path, 0o644, text.Bytes()})
	}
	pages, err := pages(root, version, date)
	return append(all, pages...), err
}

// pages are those of a command and of all below it.
func pages(c *cobra.Command, version string, date time.Time) ([]file, error) {
	if c.Hidden || c.IsAdditionalHelpTopicCommand() {
		return nil, nil
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var text bytes.Buffer
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: "Muster " + version, Manual: "Muster"}
	if err := doc.GenMan(c, header, &text); err != nil {
		return nil, err
	}
	all := []file{{"share/man/man1/" + name + ".1", 0o644, text.Bytes()}}
	for _, below := range c.Commands() {
		more, err := pages(below, version, date)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}
