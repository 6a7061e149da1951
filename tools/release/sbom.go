package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists what the programs are linked with, as the programs themselves say it, and
// what the pages are made of, in the words of CycloneDX.
func (r *release) sbom() error {
	modules := map[string]cdx.Component{}
	licences, err := r.licences()
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.build(p); err != nil {
			return err
		}
		programs := []string{"muster"}
		if p.server() {
			programs = []string{"parts/front", "parts/muster"}
		}
		for _, program := range programs {
			info, err := buildinfo.ReadFile(r.staged(p, program))
			if err != nil {
				return err
			}
			std := "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")
			modules[std] = component("std", strings.TrimPrefix(info.GoVersion, "go"), std, licences["the Go standard library"])
			for _, m := range info.Deps {
				if m.Replace != nil {
					m = m.Replace
				}
				purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
				c := component(m.Path, m.Version, purl, licences[m.Path+" "+m.Version])
				c.Properties = &[]cdx.Property{{Name: "go:h1", Value: m.Sum}}
				modules[purl] = c
			}
		}
	}
	pages, err := r.pagesComponents()
	if err != nil {
		return err
	}
	all := slices.SortedFunc(maps.Values(modules), func(a, b cdx.Component) int { return cmp.Compare(a.PackageURL, b.PackageURL) })
	all = append(all, pages...)
	own := component("github.com/musterhq/muster", "v"+r.version, "pkg:golang/github.com/musterhq/muster@v"+r.version, []string{"Apache-2.0"})
	own.Type = cdx.ComponentTypeApplication
	refs := []string{}
	for _, c := range all {
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &own}
	bom.Components = &all
	bom.Dependencies = &[]cdx.Dependency{{Ref: own.BOMRef, Dependencies: &refs}}
	// The number is of what is listed: chance would make each another.
	text, err := json.Marshal(bom)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return r.put(r.name("sbom.cdx.json"), out.Bytes(), 0o644)
}

func component(name, version, purl string, licences []string) cdx.Component {
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
	if len(licences) > 0 {
		all := cdx.Licenses{}
		for _, id := range licences {
			all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: id}})
		}
		c.Licenses = &all
	}
	return c
}

// pagesComponents are the packages of the pages, as web/vendor has them.
func (r *release) pagesComponents() ([]cdx.Component, error) {
	data, err := os.ReadFile(filepath.Join(r.root, "web", "vendor", "VENDOR.json"))
	if err != nil {
		return nil, err
	}
	var listed []struct{ Name, Version, Licence, Integrity string }
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, err
	}
	var all []cdx.Component
	for _, p := range listed {
		c := component(p.Name, p.Version, "pkg:npm/"+strings.Replace(p.Name, "@", "%40", 1)+"@"+p.Version, []string{p.Licence})
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
		if err != nil {
			return nil, fmt.Errorf("integrity of %s: %w", p.Name, err)
		}
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(sum)}}
		all = append(all, c)
	}
	return all, nil
}

// texts by which licences are known, the more particular first.
var known = []struct{ id, words string }{
	{"Apache-2.0", `Apache License,? Version 2\.0`},
	{"MPL-2.0", `Mozilla Public License,? (v\. |Version )2\.0`},
	{"BSD-3-Clause", `Redistribution and use in source and binary forms(.|\n)*(Neither the name|names of its contributors may not)`},
	{"BSD-2-Clause", `Redistribution and use in source and binary forms`},
	{"MIT", `Permission is hereby granted, free of charge, to any person obtaining a copy`},
	{"ISC", `Permission to use, copy, modify, and/?(or)? distribute this software for any purpose`},
	{"blessing", `May you do good and not evil`},
}

// licences are the names of licences by module, after the texts in
// THIRD_PARTY_LICENSES.
func (r *release) licences() (map[string][]string, error) {
	data, err := os.ReadFile(filepath.Join(r.root, "THIRD_PARTY_LICENSES"))
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	space := regexp.MustCompile(`\s+`)
	for section := range strings.SplitSeq(string(data), "\n"+strings.Repeat("=", 80)+"\n") {
		who, text, ok := strings.Cut(section, "\n"+strings.Repeat("-", 80)+"\n")
		if !ok {
			continue
		}
		text = space.ReplaceAllString(text, " ")
		for _, k := range known {
			if !regexp.MustCompile("(?i)" + k.words).MatchString(text) {
				continue
			}
			for name := range strings.SplitSeq(who, "\n") {
				if !slices.Contains(of[name], k.id) {
					of[name] = append(of[name], k.id)
				}
			}
			break
		}
	}
	return of, nil
}
