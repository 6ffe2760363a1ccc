def spark(args):
    """`--workers N` runs on this machine; without it, spark-submit says where."""
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    settings = {
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": False,
        # A file is a task: none is cut, no two are put together.
        "spark.sql.files.maxPartitionBytes": 1 << 40,
        "spark.sql.files.openCostInBytes": 1 << 40,
    }
    if args.workers:
        settings |= {
            "spark.master": f"local[{args.workers},4]",  # A task has four attempts, as on clusters.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": False,
            "spark.pyspark.python": sys.executable,
            "spark.local.dir": args.scratch or tempfile.gettempdir(),
        }
    session = SparkSession.builder.appName("nihbuild").config(map=settings).getOrCreate()
    print("ready", flush=True)

    rows = session.read.parquet(str(Path(args.plan, "rows")))
    command, nothing = args.command, pa.BufferOutputStream()
    pa.ipc.new_stream(nothing, to_arrow_schema(rows.schema)).close()
    out = subprocess.run(command, input=nothing.getvalue(), stdout=subprocess.PIPE, check=True).stdout
    columns = from_arrow_schema(pa.ipc.open_stream(out).schema)
    made = rows.mapInArrow(lambda batches: rendered(command, batches), columns)
    if args.via == "engine":
        made.write.parquet(args.rows)
    else:
        receipts = made.collect()
        print(sum(receipt.rows for receipt in receipts), "rows in", len(receipts), "files")
    session.stop()


if __name__ == "__main__":
    carried_out(spark)
