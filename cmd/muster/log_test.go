package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestTheClientOfKubernetesLogsAsTheServerDoes(t *testing.T) {
	defer klog.ClearLogger()
	var out bytes.Buffer
	logTo(&out, slog.LevelInfo)
	klog.ErrorS(nil, "it failed", "what", "a watch")
	klog.Flush()
	if got := out.String(); !strings.Contains(got, `level=ERROR msg="it failed" from=client-go what="a watch"`) {
		t.Errorf("it logged %q", got)
	}
}
