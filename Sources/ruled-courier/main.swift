import Glibc
import RuledDelivery
import RuledIO
import RuledLua

exit(
  CourierCommand.run(Array(CommandLine.arguments.dropFirst())) { path in
    do throws(ConfigurationFileError) { return .success(try ConfigurationFile.load(path)) } catch {
      return .failure(StartError(error.description, isLasting: access(path, R_OK) == 0))
    }
  })
