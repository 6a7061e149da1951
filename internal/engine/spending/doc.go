// Package spending keeps what is used of budgets in a round, and draws what follows
// when one is used up, or counted anew.
package spending
