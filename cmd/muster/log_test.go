package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestTheClientOfKubernetesLogsAsTheServerDoes(t *testing.T) {
	defer klog.ClearLogger()
	var out bytes.Buffer
	logTo(&out, slog.LevelInfo)
	klog.ErrorS(nil, "it failed", "what", "a watch")
	klog.ErrorS(fmt.Errorf("next reader: read tcp: %w", net.ErrClosed), "Unhandled Error")
	klog.Errorf("Websocket Ping failed: %v", net.ErrClosed)
	klog.Flush()
	if got := out.String(); !strings.Contains(got, `level=ERROR msg="it failed" from=client-go what="a watch"`) {
		t.Errorf("it logged %q", got)
	} else if strings.Count(got, "\n") != 1 {
		t.Errorf("it logged what it has closed itself: %q", got)
	}
}
