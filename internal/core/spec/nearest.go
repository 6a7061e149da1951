package spec

func didYouMean(word string) string { return "did you mean " + word + "?" }
