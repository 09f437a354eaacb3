"""The words engine: a small list of English words, codes and crossings of letters."""
