//go:build linux

package gpu

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Links is how close the driver says the GPUs are to one another. That is
// for better places only: where it cannot be had, nothing is known.
func Links(ctx context.Context, devices []core.Device) core.Links {
	if len(devices) < 2 {
		return ""
	}
	out, err := smi(ctx, "topo", "-m")
	if err != nil {
		return ""
	}
	return parseLinks(out, devices)
}

// styling is what the tool underlines its header with, also where nobody sees it.
var styling = regexp.MustCompile("\x1b\\[[0-9;]*m")

// parseLinks reads the matrix that nvidia-smi topo -m prints: a header with the
// names GPU0, GPU1 … and others such as NIC0, then a line for each, with the CPUs
// and the NUMA nodes that are near at its end. Empty: it is not that, or says
// nothing of one of the devices.
func parseLinks(text string, devices []core.Device) core.Links {
	var header []string
	rows := map[string][]string{}
	for line := range strings.Lines(styling.ReplaceAllString(text, "")) {
		cells := strings.Fields(line)
		switch {
		case len(cells) == 0:
		case header == nil && strings.HasPrefix(cells[0], "GPU"):
			header = cells
		case header != nil && strings.HasPrefix(cells[0], "GPU") && len(cells) > 1 && rows[cells[0]] == nil:
			rows[cells[0]] = cells[1:]
		}
	}
	column, width := map[string]int{}, len(header)
	for i, name := range header {
		if name == "CPU" { // from here on names have several words
			width = i
			break
		}
		column[name] = i
	}
	square := make([][]core.Link, len(devices))
	for i := range devices {
		row := rows["GPU"+strconv.Itoa(devices[i].Index)]
		for k := range devices {
			at, ok := column["GPU"+strconv.Itoa(devices[k].Index)]
			if !ok || at >= len(row) {
				return ""
			}
			link, ok := linkOf(row[at])
			if !ok {
				return ""
			}
			if numa := numaOf(row, width); i == k || numa != "" && numa == numaOf(rows["GPU"+strconv.Itoa(devices[k].Index)], width) {
				link = link.Near()
			}
			square[i] = append(square[i], link)
		}
	}
	return core.NewLinks(square)
}

// linkOf understands one cell.
func linkOf(cell string) (core.Link, bool) {
	switch cell {
	case "X":
		return core.LinkNVLink12, true
	case "SYS", "SOC":
		return core.LinkSockets, true
	case "NODE":
		return core.LinkNUMANode, true
	case "PHB":
		return core.LinkHostBridge, true
	case "PXB":
		return core.LinkSwitches, true
	case "PIX", "PSB":
		return core.LinkSwitch, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(cell, "NV"))
	if err != nil || !strings.HasPrefix(cell, "NV") || n < 1 {
		return 0, false
	}
	return core.LinkNVLink + core.Link(2*min(n/4, 3)), true
}

// numaOf is the NUMA nodes that a line of the matrix names; empty: it names none.
func numaOf(row []string, width int) string {
	if len(row) < width+2 || row[width+1] == "N/A" {
		return ""
	}
	return row[width+1]
}
