// Package consequence draws what follows for a workload: from the states of its
// tasks, from checks and closed queues, from evictions and from what its maker has
// done. Its choices are core/decide's; it carries them out on a draft.
package consequence
