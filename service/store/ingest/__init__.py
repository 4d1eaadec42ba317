"""From a poll to rows: records, samples, the disk queue, bulk writes."""
