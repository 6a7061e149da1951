package relay

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	labels       = []string{"receiver"}
	behindDesc   = prometheus.NewDesc("muster_audit_export_behind", "Entries of the audit log that a receiver has not been given.", labels, nil)
	failingDesc  = prometheus.NewDesc("muster_audit_export_failing", "Tries in a row that have failed to hand the audit log on.", labels, nil)
	failuresDesc = prometheus.NewDesc("muster_audit_export_failures_total", "Tries that have failed to hand the audit log on.", labels, nil)
	sentDesc     = prometheus.NewDesc("muster_audit_export_entries_total", "Entries of the audit log that were handed on.", labels, nil)
)

// Describe implements prometheus.Collector.
func (r *Relay) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{behindDesc, failingDesc, failuresDesc, sentDesc} {
		ch <- d
	}
}

// headFor bounds how long a scrape waits for where the log ends.
const headFor = time.Second

// Collect implements prometheus.Collector.
func (r *Relay) Collect(ch chan<- prometheus.Metric) {
	if len(r.outlets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), headFor)
	defer cancel()
	head, err := r.c.Log.Head(ctx)
	for _, l := range r.outlets {
		l.mu.Lock()
		at, failed, failures, sent := l.at, l.failed, l.failures, l.sent
		l.mu.Unlock()
		name := l.to.Name()
		if err == nil {
			ch <- prometheus.MustNewConstMetric(behindDesc, prometheus.GaugeValue, float64(max(head.Seq-at.Seq, 0)), name)
		}
		ch <- prometheus.MustNewConstMetric(failingDesc, prometheus.GaugeValue, float64(failed), name)
		ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(failures), name)
		ch <- prometheus.MustNewConstMetric(sentDesc, prometheus.CounterValue, float64(sent), name)
	}
}
