package api

// Metrics is what was measured in a stretch of time, as series of equal steps.
type Metrics struct {
	From    Time           `json:"from" doc:"Begin of the first step"`
	To      Time           `json:"to" doc:"End of the last step"`
	Step    float64        `json:"stepSeconds" doc:"Length of one step"`
	Series  []MetricSeries `json:"series" nullable:"false"`
	Slowest *Slowest       `json:"slowest,omitempty" doc:"Of the tasks that run, the one that does least, over the last five minutes"`
	Missing []string       `json:"missing" nullable:"false" doc:"What is not known, and why, a sentence each"`
}

// MetricSeries is one thing that was measured.
type MetricSeries struct {
	Metric  string     `json:"metric" doc:"Its last word is the unit: cpu_cores, memory_bytes, network_bytes_per_second (received and sent, of tasks that have a network of their own), gpu_utilization_ratio (0 to 1), gpu_memory_bytes, gpu_memory_total_bytes, gpu_power_watts, gpu_temperature_celsius; of a service requests_per_second, request_errors_per_second, request_median_seconds, request_p95_seconds; of a cluster gpus, gpus_allocated, gpus_busy, gpus_idle_allocated, gpus_waited_for, workloads_running, workloads_waiting"`
	Attempt *int       `json:"attempt,omitempty" doc:"Of a workload"`
	Task    *int       `json:"task,omitempty" doc:"Index of the task, of a workload"`
	Role    string     `json:"role,omitempty"`
	Node    string     `json:"node,omitempty"`
	Device  string     `json:"device,omitempty" doc:"ID of the GPU on its node"`
	Index   *int       `json:"deviceIndex,omitempty" doc:"Number of the GPU on its node"`
	Share   float64    `json:"share,omitempty" doc:"Part of the GPU that the task holds, 0 to 1, where that is not all of it; what is measured is the whole GPU"`
	Project string     `json:"project,omitempty"`
	ID      string     `json:"id,omitempty" doc:"Of the workload, where several were asked for"`
	Values  []*float64 `json:"values" nullable:"false" doc:"The mean of each step, in the unit of the metric; null: nobody looked"`
	Last    *float64   `json:"last,omitempty" doc:"The newest value that is known, in the unit of the metric"`
	Mean    *float64   `json:"mean,omitempty" doc:"In the unit of the metric"`
	Min     *float64   `json:"min,omitempty" doc:"In the unit of the metric"`
	Max     *float64   `json:"max,omitempty" doc:"In the unit of the metric"`
}

// Slowest is the task that does least.
type Slowest struct {
	Task    int     `json:"task" doc:"Index of the task"`
	Role    string  `json:"role"`
	Node    string  `json:"node"`
	Metric  string  `json:"metric" doc:"By which: gpu_utilization_ratio, or cpu_cores where there are no GPUs"`
	Value   float64 `json:"value" doc:"In the unit of the metric"`
	Median  float64 `json:"median" doc:"Of all tasks, in the unit of the metric"`
	Behind  bool    `json:"behind" doc:"Whether it is so far below the others that they are likely to wait for it"`
	Message string  `json:"message"`
}
